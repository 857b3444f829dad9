"""What becomes of a job: events in, instructions out. Pure; called by `control`, which keeps the events."""
