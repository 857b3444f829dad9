"""Instructions → calls of backends; what comes back → reports for `control`."""
