"""What a keeper leaves for the next one, and how the next one goes on with it."""
