"""REST, server-sent events, metrics, authentication: what the outside world sees of `control`."""
