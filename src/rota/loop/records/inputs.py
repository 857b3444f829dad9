"""The input of cycles, from cycle to cycle: the changes, and the hash of the whole. Recording computes and
writes the changes; replaying applies them, and the hash must then be equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import replace

from rota.loop.records.canonical import SetHash, digest, encoded
from rota.model.cluster import Calendar, ClusterRecords, TenantUsage
from rota.model.ids import JobId, NodeName
from rota.model.job import JobRecord, JobTemplate
from rota.model.node import Node, Offer
from rota.model.policy import Policy

NO_TEMPLATE = JobTemplate(groups=())
_REMEMBERED_DIGESTS = 100_000

Quantiles = tuple[int, ...]
"""How long jobs of a template ran; empty: unknown. See `RunTimes`."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass
class Delta:
    """What a cycle sees and the one before didn't. None: gone, and of usage and calendar: as before."""

    nodes: dict[NodeName, Node | None] = field(default_factory=dict)
    offers: dict[str, Offer | None] = field(default_factory=dict)
    jobs: dict[JobId, JobRecord | None] = field(default_factory=dict)
    usage: tuple[TenantUsage, ...] | None = None
    calendar: Calendar | None = None
    run_times: dict[JobTemplate, Quantiles] = field(default_factory=dict)


class Inputs:
    """Empty at first."""

    def __init__(self) -> None:
        self.nodes: dict[NodeName, Node] = {}
        self.offers: dict[str, Offer] = {}
        self.jobs: dict[JobId, JobRecord] = {}
        self.usage: tuple[TenantUsage, ...] = ()
        self.calendar = Calendar()
        self.run_times: dict[JobTemplate, Quantiles] = {}
        """For jobs that wait or run, as far as known."""
        self._hash = SetHash()
        self._digests: dict[JobTemplate, bytes] = {}
        self._hash_announced()

    def delta_to(self, records: ClusterRecords, run_times: Mapping[JobTemplate, Quantiles]) -> Delta:
        return Delta(
            _changes(self.nodes, {node.name: node for node in records.nodes}),
            _changes(self.offers, {offer.name: offer for offer in records.offers}),
            _changes(self.jobs, {record.job.id: record for record in records.jobs}),
            None if records.usage == self.usage else records.usage,
            None if records.calendar == self.calendar else records.calendar,
            {name: told or () for name, told in _changes(self.run_times, run_times).items()},
        )

    def everything(self) -> Delta:
        """From nothing to what it holds."""
        return Delta(
            dict(self.nodes),
            dict(self.offers),
            dict(self.jobs),
            self.usage,
            self.calendar,
            dict(self.run_times),
        )

    def apply(self, delta: Delta) -> None:
        """Raises KeyError if something is gone that never was there."""
        for name, node in delta.nodes.items():
            _put(self.nodes, name, node)
            self._rehash(("node", name), node)
        for offer_name, offer in delta.offers.items():
            _put(self.offers, offer_name, offer)
            self._rehash(("offer", offer_name), offer)
        for job_id, record in delta.jobs.items():
            _put(self.jobs, job_id, record)
            if record is None:
                self._hash.drop(("job", job_id))
            else:
                template = self._digest(record.job.template)
                self._hash.put(("job", job_id), template + encoded(without_template(record)))
        for template_told, quantiles in delta.run_times.items():
            _put(self.run_times, template_told, quantiles or None)
            self._rehash(("run times", self._digest(template_told).hex()), quantiles or None)
        self.usage = self.usage if delta.usage is None else delta.usage
        self.calendar = self.calendar if delta.calendar is None else delta.calendar
        self._hash_announced()

    def hash_with(self, policy: Policy, now_ms: int) -> bytes:
        """Of all that a cycle is decided by."""
        return self._hash.digest(policy, now_ms)

    def _hash_announced(self) -> None:
        self._hash.put(("usage",), encoded(self.usage))
        self._hash.put(("calendar",), encoded(self.calendar))

    def _rehash(self, name: tuple[str, str], content: object | None) -> None:
        if content is None:
            self._hash.drop(name)
        else:
            self._hash.put(name, encoded(content))

    def _digest(self, template: JobTemplate) -> bytes:
        known = self._digests.get(template)
        if known is None:
            if len(self._digests) >= _REMEMBERED_DIGESTS:
                self._digests.clear()
            known = self._digests[template] = digest(template)
        return known


def without_template(record: JobRecord) -> JobRecord:
    """Many jobs share one: it is written, and hashed, once."""
    return replace(record, job=replace(record.job, template=NO_TEMPLATE))


def templates_of(jobs: Iterable[JobRecord]) -> Iterable[JobTemplate]:
    """Each once, in the order of the jobs."""
    # Most jobs share the very object, and objects are compared faster than what is in them.
    by_object = {id(record.job.template): record.job.template for record in jobs}
    return dict.fromkeys(by_object.values())


def _changes(before: Mapping[K, V], after: Mapping[K, V]) -> dict[K, V | None]:
    changed: dict[K, V | None] = {}
    for key, value in after.items():
        known = before.get(key)
        # What didn't change is nearly always the very object.
        if known is not value and known != value:
            changed[key] = value
    changed.update((key, None) for key in before if key not in after)
    return changed


def _put(known: dict[K, V], key: K, value: V | None) -> None:
    if value is None:
        del known[key]
    else:
        known[key] = value
