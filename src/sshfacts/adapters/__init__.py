"""Bytes to one document: the strict JSON reader and the built-in text formats."""
