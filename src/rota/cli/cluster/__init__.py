"""Commands about nodes, queues, maintenance and reservations, and the log of events."""
