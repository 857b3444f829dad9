"""Metrics, traces, and how long the event loop was busy."""
