"""Commands that run a service, and `rota config`."""
