"""Taints of nodes and tolerations of pods."""

from rota.kube_objects.objects import affinity, nodes
from rota.kube_objects.times import as_ms
from rota.model.taints import Effect, Taint, Toleration

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", Effect.NO_SCHEDULE)
NOT_READY_KEYS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})


def as_taint(taint: nodes.Taint) -> Taint:
    return Taint(taint.key, taint.effect, taint.value or "", as_ms(taint.time_added))


def as_toleration(toleration: affinity.Toleration) -> Toleration:
    return Toleration(
        key=toleration.key or "",
        exists=toleration.operator == "Exists",
        value=toleration.value or "",
        effect=Effect(toleration.effect) if toleration.effect else None,
        seconds=toleration.toleration_seconds,
    )
