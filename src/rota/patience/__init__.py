"""When to ask somebody again who didn't answer, and when to leave them alone: pauses, and circuit breakers.

Pure but for `guard`, which gives a breaker a clock and a lock. Called by whoever dials out; docs/deploy.md
says which connection has what.
"""
