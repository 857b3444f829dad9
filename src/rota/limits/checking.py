"""What of a job goes beyond its owner's limits. Typed; words are made at the edge (`views/limits.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from rota.limits.applying import Asked, Origin, Owner
from rota.model.job import JobTemplate
from rota.model.limits import ANYTHING
from rota.model.selectors import NodeTerm, Operator, Requirement
from rota.model.task import TaskSpec

NODE_NAME = "host"
"""As a node's label: its name."""


class What(Enum):
    """The field of the job that goes too far."""

    PRIORITY = "priority"
    PREEMPTIBLE = "preemptible"
    EXCLUSIVE = "exclusive"
    QUEUE = "queue"
    NAMESPACE = "namespace"
    AFFINITY = "affinity"
    TOLERATION = "tolerations"
    NODE_LABEL = "node_selector"
    RESERVATION = "reservation"
    TIME_LIMIT = "time_limit"


class Excess(Struct, frozen=True):
    what: What
    asked: str | int
    allowed: int | bool | tuple[str, ...]
    origins: tuple[Origin, ...]


def owner_of(template: JobTemplate) -> Owner:
    return Owner(template.user, template.project, template.queue)


def with_default_time_limit(template: JobTemplate, limits: Asked) -> JobTemplate:
    """A job that gives no time limit gets the default one; where there is none, the longest."""
    if template.time_limit_ms is not None:
        return template
    longest_ms, default_ms = limits.value("time_limit_ms"), limits.value("default_time_limit_ms")
    known = [one for one in (longest_ms, default_ms) if one is not None]
    return replace(template, time_limit_ms=min(known)) if known else template


def excesses(template: JobTemplate, limits: Asked) -> list[Excess]:
    """All of them, in the order of What."""
    return [*_of_job(template, limits), *_of_tasks(template, limits)]


def longer_than_allowed(time_limit_ms: int, limits: Asked) -> Excess | None:
    most = limits.get("time_limit_ms")
    if most is None or time_limit_ms <= most.value:
        return None
    return Excess(What.TIME_LIMIT, time_limit_ms, most.value, most.origins)


def intolerable(taints: Iterable[tuple[str, str | None]], limits: Asked) -> Iterator[Excess]:
    """Taints, by key and value, that a job may not tolerate."""
    return _unlisted_labels(What.TOLERATION, "tolerations", taints, limits)


def _of_job(template: JobTemplate, limits: Asked) -> Iterator[Excess]:
    most = limits.get("priority")
    if most is not None and template.priority > most.value:
        yield Excess(What.PRIORITY, template.priority, most.value, most.origins)
    if not template.preemptible:
        yield from _forbidden(What.PREEMPTIBLE, "unpreemptible", limits)
    yield from _unlisted(What.QUEUE, "queues", [template.queue], limits)
    if template.namespace != template.project:
        yield from _unlisted(What.NAMESPACE, "namespaces", [template.namespace], limits)
    if template.reservation:
        yield from _unlisted(What.RESERVATION, "reservations", [template.reservation], limits)
    if template.time_limit_ms is not None:
        excess = longer_than_allowed(template.time_limit_ms, limits)
        if excess is not None:
            yield excess


def _of_tasks(template: JobTemplate, limits: Asked) -> Iterator[Excess]:
    specs = list(dict.fromkeys(group.spec for group in template.groups))
    if any(spec.exclusive for spec in specs):
        yield from _forbidden(What.EXCLUSIVE, "exclusive", limits)
    reached = {name for spec in specs for term in spec.job_affinity for name in term.namespaces}
    reached -= {template.project, template.namespace}
    yield from _unlisted(What.AFFINITY, "namespaces", sorted(reached), limits)
    tolerated = dict.fromkeys(
        (one.key or ANYTHING, None if one.exists else one.value) for spec in specs for one in spec.tolerations
    )
    yield from intolerable(tolerated, limits)
    chosen_by = dict.fromkeys(label for spec in specs for label in _chosen_by(spec))
    yield from _unlisted_labels(What.NODE_LABEL, "node_labels", chosen_by, limits)


def _chosen_by(spec: TaskSpec) -> Iterator[tuple[str, str | None]]:
    """Labels by which the task chooses its nodes. None: by something else than one value."""
    yield from spec.node_selector
    terms: list[NodeTerm] = [*spec.node_affinity, *(preferred.term for preferred in spec.preferred_nodes)]
    for term in terms:
        for requirement in term.labels.requirements:
            yield from _values(requirement.key, requirement)
        for requirement in term.names:
            yield from _values(NODE_NAME, requirement)
    if spec.node_name:
        yield NODE_NAME, spec.node_name


def _values(key: str, requirement: Requirement) -> Iterator[tuple[str, str | None]]:
    if requirement.operator is not Operator.IN:
        yield key, None
        return
    for value in requirement.values:
        yield key, value


def _forbidden(what: What, field: str, limits: Asked) -> Iterator[Excess]:
    limit = limits.get(field)
    if limit is not None and not limit.value:
        yield Excess(what, "", False, limit.origins)


def _unlisted(what: What, field: str, names: Iterable[str], limits: Asked) -> Iterator[Excess]:
    limit = limits.get(field)
    if limit is None or ANYTHING in limit.value:
        return
    for name in names:
        if name not in limit.value:
            yield Excess(what, name, limit.value, limit.origins)


def _unlisted_labels(
    what: What, field: str, labels: Iterable[tuple[str, str | None]], limits: Asked
) -> Iterator[Excess]:
    """`key` in the list allows every value, `key=value` just that one."""
    limit = limits.get(field)
    if limit is None or ANYTHING in limit.value:
        return
    for key, value in labels:
        full = key if value is None else f"{key}={value}"
        if key not in limit.value and full not in limit.value:
            yield Excess(what, full, limit.value, limit.origins)
