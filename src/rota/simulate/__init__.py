"""Experiments with the engine that runs in production: what it would have decided on recorded workloads.

Called by `cli/` and by the benchmarks. No clock but the workload's own.
"""
