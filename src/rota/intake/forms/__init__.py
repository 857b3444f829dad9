"""What may be written, as types: one module a kind of file."""
