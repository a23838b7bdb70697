"""Load, compile and lint a site: what may run, with what, where, and what must come of it."""
