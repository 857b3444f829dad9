"""The kernel's groups of processes, which hold tasks to their limits."""
