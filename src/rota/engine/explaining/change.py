"""A job that asks for less: the changes that may help one that waits, made to its template."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from rota.engine.loosening import Loosening, SpecChange, with_specs
from rota.engine.plugin import NodeFilter
from rota.model.changes import DropInDomains, DropJobAffinity, DropSpread, DropTopology, ShareNodes
from rota.model.job import JobTemplate
from rota.model.resources import WHOLE_GPU_MILLI
from rota.model.task import TaskSpec
from rota.snapshot.nodes import NodeColumns

_MEBIBYTE = 1 << 20
_FIXED = (
    ("cpu", "cpu_milli", 1),
    ("memory", "memory_bytes", _MEBIBYTE),
    ("storage", "storage_bytes", _MEBIBYTE),
)

MOST_OF_A_KIND = 64
"""So many changes of each kind are tried: each is a trial, which costs as much as a decision."""

Limiter = Callable[[int], SpecChange]

# -- smaller amounts


class Asked(NamedTuple):
    resource: str
    most: int
    """That any task asks for."""
    step: int
    limited: Limiter
    """How to limit a task's request."""
    of_one_device: bool = False


def resources_of(template: JobTemplate) -> Iterator[Asked]:
    requests = [group.spec.requests for group in template.groups]
    for resource, field, step in _FIXED:
        asked = max(getattr(request, field) for request in requests)
        if asked:
            yield Asked(resource, asked, step, _limit_fixed(field))
    most: dict[str, int] = {}
    for request in set(requests):
        for name, amount in request.extended:
            most[name] = max(amount, most.get(name, 0))
    for name in sorted(most)[:MOST_OF_A_KIND]:
        yield Asked(name, most[name], 1, _limit_extended(name))
    gpus = [group.spec.gpu for group in template.groups]
    whole = max((gpu.count for gpu in gpus if not gpu.is_fraction), default=0)
    if whole:
        yield Asked("gpu", whole * WHOLE_GPU_MILLI, WHOLE_GPU_MILLI, _limit_gpus)
    part = max((gpu.share_milli for gpu in gpus if gpu.is_fraction), default=0)
    if part:
        yield Asked("gpu", part, 10, _limit_share, of_one_device=True)


def _limit_fixed(field: str) -> Limiter:
    def limited(most: int) -> SpecChange:
        def change(spec: TaskSpec) -> TaskSpec:
            requests = replace(spec.requests, **{field: min(getattr(spec.requests, field), most)})
            return replace(spec, requests=requests)

        return change

    return limited


def _limit_extended(name: str) -> Limiter:
    def limited(most: int) -> SpecChange:
        def change(spec: TaskSpec) -> TaskSpec:
            extended = tuple((n, min(a, most) if n == name else a) for n, a in spec.requests.extended)
            return replace(spec, requests=replace(spec.requests, extended=extended))

        return change

    return limited


def _limit_gpus(most: int) -> SpecChange:
    def change(spec: TaskSpec) -> TaskSpec:
        if spec.gpu.is_fraction or not spec.gpu.count:
            return spec
        return replace(spec, gpu=replace(spec.gpu, count=min(spec.gpu.count, most // WHOLE_GPU_MILLI)))

    return change


def _limit_share(most: int) -> SpecChange:
    def change(spec: TaskSpec) -> TaskSpec:
        if not spec.gpu.is_fraction:
            return spec
        return replace(spec, gpu=replace(spec.gpu, share_milli=min(spec.gpu.share_milli, most)))

    return change


# -- fewer conditions


def loosenings(
    filters: Sequence[NodeFilter], nodes: NodeColumns, template: JobTemplate
) -> Iterator[Loosening]:
    """Of the rules about nodes, and of the engine's own."""
    kinds: list[Iterable[Loosening]] = [one.loosenings(template, nodes) for one in filters]
    for kind in (*kinds, _in_other_company(template), _laid_out_otherwise(template), _shared(template)):
        yield from islice(kind, MOST_OF_A_KIND)


def _in_other_company(template: JobTemplate) -> Iterator[Loosening]:
    specs = [group.spec for group in template.groups]
    required = (term for spec in specs for term in spec.job_affinity if term.is_required)
    for term in {term: None for term in required if not term.claim}:
        dropped = with_specs(
            template,
            lambda spec, gone=term: replace(  # type: ignore[misc]
                spec, job_affinity=tuple(t for t in spec.job_affinity if t != gone)
            ),
        )
        yield Loosening(DropJobAffinity(term.topology_key, term.selector.requirements), dropped)
    for spread in {spread: None for spec in specs for spread in spec.spread if spread.required}:
        dropped = with_specs(
            template,
            lambda spec, gone=spread: replace(  # type: ignore[misc]
                spec, spread=tuple(s for s in spec.spread if s != gone)
            ),
        )
        yield Loosening(DropSpread(spread.topology_key), dropped)
    for rule in {rule: None for spec in specs for rule in spec.in_domains}:
        dropped = with_specs(
            template,
            lambda spec, gone=rule: replace(  # type: ignore[misc]
                spec, in_domains=tuple(r for r in spec.in_domains if r != gone)
            ),
        )
        yield Loosening(DropInDomains(rule.topology_key, rule.count), dropped)


def _laid_out_otherwise(template: JobTemplate) -> Iterator[Loosening]:
    for rule in template.topology:
        rest = tuple(other for other in template.topology if other != rule)
        yield Loosening(DropTopology(rule.key), replace(template, topology=rest))


def _shared(template: JobTemplate) -> Iterator[Loosening]:
    if any(group.spec.exclusive for group in template.groups):
        yield Loosening(ShareNodes(), with_specs(template, lambda spec: replace(spec, exclusive=False)))


def paying(most: int) -> SpecChange:
    def change(spec: TaskSpec) -> TaskSpec:
        limit = spec.max_price_micro_per_hour
        return spec if limit is None else replace(spec, max_price_micro_per_hour=max(limit, most))

    return change
