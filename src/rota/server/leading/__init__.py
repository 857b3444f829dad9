"""Several servers on one database: one of them leads, the others forward to it."""
