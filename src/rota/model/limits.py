"""What users may ask for and hold, as operators set it: the `limits` of a policy."""

from __future__ import annotations

from msgspec import Struct

from rota.model.job import Priority

ANYTHING = "*"
"""As the only entry of a list: everything is allowed."""


class Limits(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    """Of one user, one project, one queue, or of whoever has none. None: it says nothing about this."""

    # What one job may ask for.
    priority: int | None = None
    """At most."""
    unpreemptible: bool | None = None
    """Whether it may say `preemptible: false`."""
    exclusive: bool | None = None
    queues: tuple[str, ...] | None = None
    namespaces: tuple[str, ...] | None = None
    """Which it may be in or look at, besides that of its own project."""
    tolerations: tuple[str, ...] | None = None
    """Taints that it may tolerate: `key` or `key=value`."""
    node_labels: tuple[str, ...] | None = None
    """Labels by which it may choose nodes: `key` or `key=value`."""
    reservations: tuple[str, ...] | None = None
    time_limit_ms: int | None = None
    """At most."""
    default_time_limit_ms: int | None = None
    """Of a job that gives none; where this isn't set, such a job gets the longest."""
    log_bytes: int | None = None
    """Of each task's output, so much is kept."""

    # What is counted over all jobs of the user, the project or the queue.
    waiting_jobs: int | None = None
    running_jobs: int | None = None
    at_once: tuple[tuple[str, int], ...] = ()
    """Amounts that running tasks hold together, by resource in base units; one that isn't named isn't
    limited."""
    submissions_per_minute: int | None = None
    upload_bytes: int | None = None


BUILT_IN = Limits(
    priority=Priority.MEDIUM, unpreemptible=False, namespaces=(), tolerations=(), waiting_jobs=100_000
)
"""What counts where the policy says nothing: nobody goes before others but by an operator's word, and nobody
fills the server's memory."""


class LimitsPolicy(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    """Entries by name, in the order of names."""

    default: Limits = Limits()
    projects: tuple[tuple[str, Limits], ...] = ()
    users: tuple[tuple[str, Limits], ...] = ()
    queues: tuple[tuple[str, Limits], ...] = ()
