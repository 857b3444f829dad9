"""Commands about jobs: submit, run, list, show, logs, watch, cancel, hold, release, efficiency."""
