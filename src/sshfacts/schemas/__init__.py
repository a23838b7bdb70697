"""What output must look like: the strict JSON Schema profile, contracts, checks, selection and the envelope."""
