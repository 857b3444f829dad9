"""`rota sim`: experiments with the engine on recorded workloads."""
