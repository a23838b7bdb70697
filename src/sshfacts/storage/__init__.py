"""What is kept: the record of every call in an append-only database, and the hashes of tokens."""
