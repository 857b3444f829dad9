"""Starts processes, watches them and ends them: all that is asked of the kernel."""
