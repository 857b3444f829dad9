"""Completion of names that a server knows. It is silent without a server, or if the answer takes long."""

from __future__ import annotations

from typing import Any

_PATIENCE_S = 0.5
_MOST = 50


def job_ids(ctx: Any, arguments: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Unfinished jobs, the newest first, each with its name and state."""
    from rota.cli.client.known_names import unfinished_jobs

    return unfinished_jobs(ctx.find_root().params.get("context"), _PATIENCE_S, _MOST)


def node_names(ctx: Any, arguments: list[str], incomplete: str) -> list[str]:
    from rota.cli.client.known_names import nodes

    return nodes(ctx.find_root().params.get("context"), _PATIENCE_S)


def queue_names(ctx: Any, arguments: list[str], incomplete: str) -> list[str]:
    from rota.cli.client.known_names import queues

    return queues(ctx.find_root().params.get("context"), _PATIENCE_S)
