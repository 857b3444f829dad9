"""Where a live cluster is asked and told things: what the server's routes call."""
