"""Commands about jobs: submit, run, list, show, logs, fetch, watch, cancel, hold, release, efficiency."""
