"""Folders and files of tasks: before they start, while they run, after they ended."""
