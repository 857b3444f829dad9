"""Copies of all that a server keeps: made while it runs, put back where none does. Called by the commands."""
