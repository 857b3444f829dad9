"""Answers questions about a live cluster and changes it: what the server's routes call."""
