"""A server's Python clients, and an executor."""
