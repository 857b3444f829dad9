"""Rota from Python: clients of its REST interface, and an executor of Python calls.

`rota.Client`, `rota.AsyncClient` and `rota.Executor` are the way in. Nothing is imported here, so that
the worker that a job of the executor runs (`python -m rota.sdk.worker`) starts fast.
"""
