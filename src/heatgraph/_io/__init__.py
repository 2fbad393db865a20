"""Private services for every layer: atomic files, tensor files, hashing, memory, text and HTML."""
