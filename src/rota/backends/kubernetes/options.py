"""What an administrator says of the pods of a cluster; the same for all jobs."""

from __future__ import annotations

from msgspec import Struct

from rota.model.ids import Labels
from rota.model.resources import Resources

TOOL_CACHE_CLAIM = "act-tool-cache"
_MI, _GI = 1 << 20, 1 << 30


class ToolCache(Struct, frozen=True):
    """A volume that all jobs share, for tools that they would each fetch."""

    storage_class: str = ""
    """Empty: the cluster's default."""
    size_bytes: int = 10 * _GI


class Sidecar(Struct, frozen=True):
    """A container that runs beside each job, as for monitoring."""

    name: str
    image: str
    command: tuple[str, ...] = ()


class PodOptions(Struct, frozen=True):
    support_image: str
    """Of `setup` and `log-collector`: any with sh, tar, find, xargs, stat and dd, as busybox has them."""
    default_image: str = ""
    """Of jobs that name none; empty: such jobs don't run here."""
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    instance: str = "rota"
    """Whose pods these are: servers that share a namespace have names of their own."""
    requests: Resources = Resources(cpu_milli=250, memory_bytes=512 * _MI)
    limits: Resources = Resources(cpu_milli=1000, memory_bytes=2 * _GI)
    """Of tasks that say nothing else."""
    run_as_user: int | None = None
    """None: as whom the image says, which may be root of the container."""
    capabilities: tuple[str, ...] = ()
    """That the runner has; all others are dropped."""
    shm_bytes: int = 64 * _MI
    tool_cache: ToolCache | None = None
    """None: an empty folder for each pod."""
    priority_class: str = ""
    runtime_class: str = ""
    node_labels: Labels = ()
    """Only nodes that have these take tasks."""
    sidecars: tuple[Sidecar, ...] = ()
