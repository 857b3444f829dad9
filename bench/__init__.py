"""Benchmarks: Rota beside a peer or a baseline, both measured in one run."""
