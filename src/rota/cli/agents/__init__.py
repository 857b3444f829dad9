"""Commands about agents: `rota agent` itself, and which machines may join."""
