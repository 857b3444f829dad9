"""`rota plan`: what would run where, what waits, and why."""
