"""One bounded run on one host: credentials, pinned host keys, the pool and the channel."""
