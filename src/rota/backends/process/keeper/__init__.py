"""What runs in the keeper: the process that starts tasks, watches them and outlives the server."""
