"""How long this backend waits for what."""

from __future__ import annotations

from msgspec import Struct

from rota.patience.backoff import Backoff


class Terms(Struct, frozen=True):
    pull_within_ms: int = 300_000
    """An image that can't be had for so long fails the task; the kubelet tries again meanwhile."""
    lost_after_ms: int = 300_000
    """A node that isn't ready for so long has lost its tasks."""
    output_within_ms: int = 60_000
    """After the end of a task: output that can't be read by then is lost."""
    limit_within_ms: int = 10_000
    """Whoever changes a time limit waits so long at most until it holds."""
    look_each_ms: int = 1_000
    sync_within_ms: int = 10_000
    """A cluster that doesn't answer by then when the server starts is left out until it does."""
    pauses: Backoff = Backoff(0.1, 5.0)
