"""A job that asks for less: the changes that may help one that waits, made to its template."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np
from msgspec.structs import replace

from rota.engine.explaining.verdicts import term_text
from rota.model.explanation import Change
from rota.model.job import JobTemplate
from rota.model.resources import GpuRequest
from rota.model.taints import Effect, Taint, Toleration, Tolerations, tolerated
from rota.model.task import TaskSpec
from rota.snapshot.nodes import NodeColumns

_MEBIBYTE = 1 << 20
_FIXED = (
    ("cpu", "cpu_milli", 1),
    ("memory", "memory_bytes", _MEBIBYTE),
    ("storage", "storage_bytes", _MEBIBYTE),
)

SpecChange = Callable[[TaskSpec], TaskSpec]
Limiter = Callable[[int], SpecChange]


def with_specs(template: JobTemplate, change: SpecChange) -> JobTemplate:
    groups = tuple(replace(group, spec=change(group.spec)) for group in template.groups)
    return replace(template, groups=groups)


# -- smaller amounts


def resources_of(template: JobTemplate) -> Iterator[tuple[str, int, int, Limiter]]:
    """(name, the most that any task asks for, step, how to limit a task's request)"""
    requests = [group.spec.requests for group in template.groups]
    for subject, field, step in _FIXED:
        asked = max(getattr(request, field) for request in requests)
        if asked:
            yield subject, asked, step, _limit_fixed(field)
    most: dict[str, int] = {}
    for request in set(requests):
        for name, amount in request.extended:
            most[name] = max(amount, most.get(name, 0))
    for name in sorted(most)[:MOST_OF_A_KIND]:
        yield name, most[name], 1, _limit_extended(name)
    gpus = [group.spec.gpu for group in template.groups]
    whole = max((gpu.count for gpu in gpus if not gpu.is_fraction), default=0)
    if whole:
        yield "gpu", whole * 1000, 1000, _limit_gpus
    part = max((gpu.share_milli for gpu in gpus if gpu.is_fraction), default=0)
    if part:
        yield "gpu share", part, 10, _limit_share


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
        return replace(spec, gpu=replace(spec.gpu, count=min(spec.gpu.count, most // 1000)))

    return change


def _limit_share(most: int) -> SpecChange:
    def change(spec: TaskSpec) -> TaskSpec:
        if not spec.gpu.is_fraction:
            return spec
        return replace(spec, gpu=replace(spec.gpu, share_milli=min(spec.gpu.share_milli, most)))

    return change


# -- fewer conditions


MOST_OF_A_KIND = 64
"""So many changes of each kind are tried: each is a trial, which costs as much as a decision."""

Loosening = tuple[Change, str, JobTemplate]


def loosenings(nodes: NodeColumns, template: JobTemplate) -> Iterator[Loosening]:
    specs = [group.spec for group in template.groups]
    for kind in (
        _tolerated,
        _without_labels,
        _anywhere,
        _in_other_pools,
        _on_other_models,
        _in_other_company,
    ):
        yield from islice(kind(nodes, template, specs), MOST_OF_A_KIND)
    for rule in template.topology[:MOST_OF_A_KIND]:
        rest = tuple(other for other in template.topology if other != rule)
        yield Change.TOPOLOGY, rule.key, replace(template, topology=rest)
    if any(spec.exclusive for spec in specs):
        yield Change.EXCLUSIVE, "", with_specs(template, lambda spec: replace(spec, exclusive=False))


def _tolerated(nodes: NodeColumns, template: JobTemplate, specs: list[TaskSpec]) -> Iterator[Loosening]:
    """Where there are many sets of taints, those of most nodes first."""
    sets: Iterable[tuple[Taint, ...]] = nodes.taint_sets
    if len(nodes.taint_sets) > MOST_OF_A_KIND:
        size = np.bincount(nodes.taint_set, minlength=len(nodes.taint_sets))
        sets = (nodes.taint_sets[number] for number in np.argsort(-size, kind="stable").tolist())
    tolerations = [Tolerations(some) for some in {spec.tolerations: None for spec in specs}]
    for taints in sets:
        lacking = _untolerated(tolerations, taints)
        if lacking:
            extra = tuple(Toleration(t.key, not t.value, t.value, t.effect) for t in lacking)
            subject = ", ".join(taint.notation for taint in lacking)
            yield Change.TOLERATION, subject, with_specs(template, _tolerating(extra))


def _without_labels(_: NodeColumns, template: JobTemplate, specs: list[TaskSpec]) -> Iterator[Loosening]:
    for pair in sorted({pair for spec in specs for pair in spec.node_selector}):
        yield Change.NODE_SELECTOR, f"{pair[0]}={pair[1]}", with_specs(template, _without_label(pair))


def _anywhere(_: NodeColumns, template: JobTemplate, specs: list[TaskSpec]) -> Iterator[Loosening]:
    if any(spec.node_affinity for spec in specs):
        free = with_specs(template, lambda spec: replace(spec, node_affinity=()))
        yield Change.NODE_AFFINITY, "", free


def _in_other_pools(nodes: NodeColumns, template: JobTemplate, specs: list[TaskSpec]) -> Iterator[Loosening]:
    if any(spec.pools for spec in specs):
        for pool in sorted(set(nodes.pool.values)):
            yield Change.POOL, pool, with_specs(template, _allowing_pool(pool))


def _on_other_models(nodes: NodeColumns, template: JobTemplate, specs: list[TaskSpec]) -> Iterator[Loosening]:
    if any(spec.gpu.models for spec in specs):
        allowed = [set(spec.gpu.models) for spec in specs if spec.gpu.count]
        for model in nodes.gpu_model.values:
            if model and not all(model in models for models in allowed):
                yield Change.GPU_MODEL, model, with_specs(template, _allowing_model(model))


def _in_other_company(_: NodeColumns, template: JobTemplate, specs: list[TaskSpec]) -> Iterator[Loosening]:
    required = (term for spec in specs for term in spec.job_affinity if term.is_required)
    for term in {term: None for term in required if not term.is_for_one_at_a_time}:
        dropped = with_specs(
            template,
            lambda spec, gone=term: replace(  # type: ignore[misc]
                spec, job_affinity=tuple(t for t in spec.job_affinity if t != gone)
            ),
        )
        yield Change.JOB_AFFINITY, term_text(term), dropped
    for spread in {spread: None for spec in specs for spread in spec.spread if spread.required}:
        dropped = with_specs(
            template,
            lambda spec, gone=spread: replace(  # type: ignore[misc]
                spec, spread=tuple(s for s in spec.spread if s != gone)
            ),
        )
        yield Change.JOB_AFFINITY, f"spread over {spread.topology_key}", dropped


def paying(most: int) -> SpecChange:
    def change(spec: TaskSpec) -> TaskSpec:
        limit = spec.max_price_micro_per_hour
        return spec if limit is None else replace(spec, max_price_micro_per_hour=max(limit, most))

    return change


def _untolerated(tolerations: list[Tolerations], taints: tuple[Taint, ...]) -> list[Taint]:
    return [
        taint
        for taint in taints
        if taint.effect is not Effect.PREFER_NO_SCHEDULE
        and any(not tolerated(taint, some) for some in tolerations)
    ]


def _tolerating(extra: tuple[Toleration, ...]) -> SpecChange:
    return lambda spec: replace(spec, tolerations=spec.tolerations + extra)


def _without_label(pair: tuple[str, str]) -> SpecChange:
    return lambda spec: replace(
        spec, node_selector=tuple(other for other in spec.node_selector if other != pair)
    )


def _allowing_pool(pool: str) -> SpecChange:
    return lambda spec: replace(spec, pools=(*spec.pools, pool)) if spec.pools else spec


def _allowing_model(model: str) -> SpecChange:
    def change(spec: TaskSpec) -> TaskSpec:
        gpu: GpuRequest = spec.gpu
        return replace(spec, gpu=replace(gpu, models=(*gpu.models, model))) if gpu.models else spec

    return change
