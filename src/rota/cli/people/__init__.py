"""Commands about people: projects, tokens, secrets, limits, the audit log, signing in and out."""
