"""What of a cluster a mirror is told: each resource, and who takes its objects in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from rota.kube.api.decoding import Unreadable
from rota.kube.api.informer import Handler
from rota.kube.api.resources import (
    ATTACHMENTS,
    BUDGETS,
    CLAIMS,
    CSI_DRIVERS,
    CSI_NODES,
    NAMESPACES,
    NODES,
    PLUGIN_GROUPS,
    PODS,
    STORAGE_CAPACITIES,
    STORAGE_CLASSES,
    VOLCANO_GROUPS,
    VOLUMES,
    Resource,
)
from rota.kube.mirror.mirror import Mirror


class Source(Struct, frozen=True):
    resource: Resource[Any]
    handler: Handler[Any]
    on_unreadable: Callable[[Unreadable], None] | None = None
    is_optional: bool = False
    """A cluster may not have it, and then there is none of it."""


def sources_of(mirror: Mirror) -> list[Source]:
    """Pods come last: they are read in the light of all else, and what runs is counted where it runs."""
    volumes, groups = mirror.pod_context.volumes, mirror.pod_groups
    return [
        Source(NODES, mirror.node_changed),
        Source(NAMESPACES, mirror.namespace_changed),
        Source(CSI_NODES, volumes.csi_node),
        Source(CSI_DRIVERS, volumes.driver),
        Source(STORAGE_CAPACITIES, volumes.capacity),
        Source(STORAGE_CLASSES, volumes.storage_class),
        Source(VOLUMES, volumes.volume),
        Source(CLAIMS, volumes.claim),
        Source(ATTACHMENTS, volumes.attachment),
        Source(BUDGETS, mirror.budgets.budget_changed),
        Source(PLUGIN_GROUPS, groups.plugin_group, groups.unreadable_plugin_group, is_optional=True),
        Source(VOLCANO_GROUPS, groups.volcano_group, groups.unreadable_volcano_group, is_optional=True),
        Source(PODS, mirror.pod_changed),
    ]
