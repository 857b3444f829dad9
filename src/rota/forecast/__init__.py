"""What will come of decisions: a cluster under a virtual clock, around the engine that decides in earnest.

Called by `simulate/`, which replays workloads through it, and for estimates, which run a live cluster
ahead. Like the engine it has no clock of its own, no randomness and no I/O.
"""
