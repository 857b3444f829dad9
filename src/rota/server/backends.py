"""Backends that settings name: `[backends.NAME]`. Which kinds there are is said here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rota.backends.kubernetes.options import PodOptions, ToolCache
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.streams.log_writer import Rotation
from rota.model.resources import Resources
from rota.settings.settings import BackendSettings

if TYPE_CHECKING:
    from rota.backends.kubernetes.backend import KubernetesBackend


class Surroundings(Struct, frozen=True):
    """What all of them are given."""

    files: Path
    """Below it each has a folder of its own."""
    inputs: Folders
    """Where uploaded files are."""
    rotation: Rotation

    def folders(self, name: str) -> Folders:
        return Folders(self.files / "backends" / name)


def configured(stated: Mapping[str, BackendSettings], around: Surroundings) -> Iterator[KubernetesBackend]:
    """InputError where a file that one names can't be read."""
    for name, settings in sorted(stated.items()):
        yield _KINDS[settings.kind](name, settings, around)


def check_backend(settings: BackendSettings) -> None:
    """InputError where a file that it names can't be read, or doesn't say which cluster is meant."""
    from rota.backends.kubernetes.pod_calls import check_kubeconfig

    check_kubeconfig(settings.kubeconfig, settings.context)


def folders_of(stated: Mapping[str, BackendSettings], files: Path) -> tuple[Folders, ...]:
    """Where each keeps what tasks wrote and left."""
    return tuple(Folders(files / "backends" / name) for name in sorted(stated))


def _kubernetes(name: str, settings: BackendSettings, around: Surroundings) -> KubernetesBackend:
    # Only here: a server without clusters starts sooner without all that.
    from rota.backends.kubernetes.backend import KubernetesBackend
    from rota.backends.kubernetes.pod_calls import PodCalls
    from rota.backends.kubernetes.terms import Terms

    calls = PodCalls.by_kubeconfig(
        settings.kubeconfig, settings.context, settings.namespace, pod_options(settings)
    )
    folders = around.folders(name)
    folders.root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return KubernetesBackend(
        calls,
        folders,
        around.inputs,
        name=name,
        terms=Terms(pull_within_ms=settings.pull_within_ms, lost_after_ms=settings.lost_after_ms),
        rotation=around.rotation,
        price_micro_per_hour=settings.price_micro_per_hour,
    )


_KINDS: Mapping[str, Callable[[str, BackendSettings, Surroundings], KubernetesBackend]] = {
    "kubernetes": _kubernetes
}


def pod_options(settings: BackendSettings) -> PodOptions:
    cache = ToolCache(settings.tool_cache_class, settings.tool_cache_bytes)
    return PodOptions(
        settings.support_image,
        default_image=settings.default_image,
        pull_policy=settings.pull_policy,
        pull_secrets=settings.pull_secrets,
        instance=settings.instance,
        requests=Resources(settings.request_cpu_milli, settings.request_memory_bytes),
        limits=Resources(settings.limit_cpu_milli, settings.limit_memory_bytes),
        run_as_user=settings.run_as_user or None,
        capabilities=settings.capabilities,
        shm_bytes=settings.shm_bytes,
        tool_cache=cache if settings.tool_cache else None,
        priority_class=settings.priority_class,
        runtime_class=settings.runtime_class,
        node_labels=tuple(_pair(label) for label in settings.node_labels),
    )


def _pair(label: str) -> tuple[str, str]:
    key, _, value = label.partition("=")
    return key, value
