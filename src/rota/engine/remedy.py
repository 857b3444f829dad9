"""What would let a waiting job start: the smallest changes, each found by trying it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from msgspec.structs import replace

from rota.engine.decide import Cycle, Refused, Trial
from rota.engine.score import task_price_micro
from rota.engine.verdicts import term_text
from rota.model.explanation import Change, Remedy
from rota.model.ids import NodeName
from rota.model.job import Job, JobTemplate, Priority
from rota.model.resources import GpuRequest
from rota.model.taints import Effect, Taint, Toleration, tolerated
from rota.model.task import TaskSpec
from rota.model.verdict import Code, Kind

_MEBIBYTE = 1 << 20
_EFFORT = {
    Change.TOLERATION: 0.30,
    Change.NODE_LABEL: 0.35,
    Change.PRIORITY: 0.40,
    Change.NODE_SELECTOR: 0.45,
    Change.GPU_MODEL: 0.45,
    Change.POOL: 0.50,
    Change.PRICE: 0.50,
    Change.EXCLUSIVE: 0.55,
    Change.JOB_AFFINITY: 0.60,
    Change.NODE_AFFINITY: 0.60,
    Change.TOPOLOGY: 0.60,
}
"""How large a change is felt to be, against giving up that fraction of what was asked for."""

Try = Callable[[JobTemplate], Trial | None]


def remedies_for(cycle: Cycle, refused: Refused, job: Job) -> tuple[Remedy, ...]:
    """Every single change that helps, the smallest first."""
    codes = {refusal.reason.code for refusal in refused.verdict.refusals}
    if codes & {Code.PARTNER, Code.STRICT_QUEUE, Code.NO_SCHEDULER, Code.NO_NODES}:
        return ()
    if refused.verdict.kind is Kind.NEVER:
        cycle.empty_board()

    def attempt(template: JobTemplate) -> Trial | None:
        return cycle.trial(refused, job, template)

    template = job.template
    found = [
        *_amounts(template, attempt),
        *_gang_size(template, attempt),
        *_loosened(cycle, template, attempt),
        *_price(cycle, template, attempt),
        *_priority(cycle, template, attempt),
    ]
    return tuple(sorted(found, key=_size))


def _size(remedy: Remedy) -> tuple[float, str, str]:
    if remedy.change in (Change.RESOURCE, Change.GANG_SIZE):
        effort = (remedy.asked - remedy.amount) / max(1, remedy.asked)
    else:
        effort = _EFFORT[remedy.change]
    return effort, remedy.change.value, remedy.subject


def _with_specs(template: JobTemplate, change: Callable[[TaskSpec], TaskSpec]) -> JobTemplate:
    groups = tuple(replace(group, spec=change(group.spec)) for group in template.groups)
    return replace(template, groups=groups)


def _remedy(change: Change, trial: Trial, subject: str = "", asked: int = 0, amount: int = 0) -> Remedy:
    return Remedy(change, subject, asked, amount, NodeName(""), trial.nodes, trial.evicts)


# -- smaller amounts


def _amounts(template: JobTemplate, attempt: Try) -> Iterator[Remedy]:
    """For each resource the largest amount with which the job would start."""
    for subject, asked, step, limited in _resources(template):
        found = _largest((asked - 1) // step, partial(_attempt_limited, template, attempt, limited, step))
        if found is not None:
            count, trial = found
            yield _remedy(Change.RESOURCE, trial, subject, asked, count * step)


def _attempt_limited(
    template: JobTemplate, attempt: Try, limited: Limiter, step: int, count: int
) -> Trial | None:
    return attempt(_with_specs(template, limited(count * step)))


def _largest(high: int, attempt: Callable[[int], Trial | None]) -> tuple[int, Trial] | None:
    """The largest count from 1 to `high` that succeeds, given that all smaller ones do too."""
    best = attempt(1) if high >= 1 else None
    if best is None:
        return None
    low, too_much = 1, high + 1
    while too_much - low > 1:
        middle = (low + too_much) // 2
        trial = attempt(middle)
        if trial is None:
            too_much = middle
        else:
            low, best = middle, trial
    return low, best


_FIXED = (
    ("cpu", "cpu_milli", 1),
    ("memory", "memory_bytes", _MEBIBYTE),
    ("storage", "storage_bytes", _MEBIBYTE),
)
Limiter = Callable[[int], Callable[[TaskSpec], TaskSpec]]


def _resources(template: JobTemplate) -> Iterator[tuple[str, int, int, Limiter]]:
    """(name, the most that any task asks for, step, how to limit a task's request)"""
    requests = [group.spec.requests for group in template.groups]
    fixed = (
        ("cpu", "cpu_milli", 1),
        ("memory", "memory_bytes", _MEBIBYTE),
        ("storage", "storage_bytes", _MEBIBYTE),
    )
    for subject, field, step in fixed:
        asked = max(getattr(request, field) for request in requests)
        if asked:
            yield subject, asked, step, _limit_fixed(field)
    for name in sorted({name for request in requests for name, _ in request.extended}):
        asked = max(dict(request.extended).get(name, 0) for request in requests)
        yield name, asked, 1, _limit_extended(name)
    gpus = [group.spec.gpu for group in template.groups]
    whole = max((gpu.count for gpu in gpus if not gpu.is_fraction), default=0)
    if whole:
        yield "gpu", whole * 1000, 1000, _limit_gpus
    part = max((gpu.share_milli for gpu in gpus if gpu.is_fraction), default=0)
    if part:
        yield "gpu share", part, 10, _limit_share


def _limit_fixed(field: str) -> Limiter:
    def limited(most: int) -> Callable[[TaskSpec], TaskSpec]:
        def change(spec: TaskSpec) -> TaskSpec:
            requests = replace(spec.requests, **{field: min(getattr(spec.requests, field), most)})
            return replace(spec, requests=requests)

        return change

    return limited


def _limit_extended(name: str) -> Limiter:
    def limited(most: int) -> Callable[[TaskSpec], TaskSpec]:
        def change(spec: TaskSpec) -> TaskSpec:
            extended = tuple((n, min(a, most) if n == name else a) for n, a in spec.requests.extended)
            return replace(spec, requests=replace(spec.requests, extended=extended))

        return change

    return limited


def _limit_gpus(most: int) -> Callable[[TaskSpec], TaskSpec]:
    def change(spec: TaskSpec) -> TaskSpec:
        if spec.gpu.is_fraction or not spec.gpu.count:
            return spec
        return replace(spec, gpu=replace(spec.gpu, count=min(spec.gpu.count, most // 1000)))

    return change


def _limit_share(most: int) -> Callable[[TaskSpec], TaskSpec]:
    def change(spec: TaskSpec) -> TaskSpec:
        if not spec.gpu.is_fraction:
            return spec
        return replace(spec, gpu=replace(spec.gpu, share_milli=min(spec.gpu.share_milli, most)))

    return change


def _gang_size(template: JobTemplate, attempt: Try) -> Iterator[Remedy]:
    needed = template.min_count
    found = _largest(needed - 1, lambda count: attempt(replace(template, min_available=count)))
    if found is not None:
        yield _remedy(Change.GANG_SIZE, found[1], "", needed, found[0])


# -- fewer conditions


def _loosened(cycle: Cycle, template: JobTemplate, attempt: Try) -> Iterator[Remedy]:
    for change, subject, loosened in _loosenings(cycle, template):
        trial = attempt(loosened)
        if trial is None:
            continue
        yield _remedy(change, trial, subject)
        if change is Change.NODE_SELECTOR:
            lacking = [node for node in trial.nodes if not _has_label(cycle, node, subject)]
            if len(set(lacking)) == 1:
                yield replace(_remedy(Change.NODE_LABEL, trial, subject), node=lacking[0])


def _has_label(cycle: Cycle, node: NodeName, pair: str) -> bool:
    spec = cycle.snapshot.nodes.specs[cycle.snapshot.nodes.position[node]]
    return pair in {f"{key}={value}" for key, value in spec.labels}


def _loosenings(cycle: Cycle, template: JobTemplate) -> Iterator[tuple[Change, str, JobTemplate]]:
    specs = [group.spec for group in template.groups]
    for taints in cycle.snapshot.nodes.taint_sets:
        lacking = _untolerated(specs, taints)
        if lacking:
            extra = tuple(Toleration(t.key, not t.value, t.value, t.effect) for t in lacking)
            subject = ", ".join(taint.notation for taint in lacking)
            yield Change.TOLERATION, subject, _with_specs(template, _tolerating(extra))
    for pair in sorted({pair for spec in specs for pair in spec.node_selector}):
        yield Change.NODE_SELECTOR, f"{pair[0]}={pair[1]}", _with_specs(template, _without_label(pair))
    if any(spec.node_affinity for spec in specs):
        free = _with_specs(template, lambda spec: replace(spec, node_affinity=()))
        yield Change.NODE_AFFINITY, "", free
    if any(spec.pools for spec in specs):
        for pool in sorted(set(cycle.snapshot.nodes.pool.values)):
            yield Change.POOL, pool, _with_specs(template, _allowing_pool(pool))
    if any(spec.gpu.models for spec in specs):
        for model in cycle.snapshot.nodes.gpu_model.values:
            if model and not all(model in spec.gpu.models for spec in specs if spec.gpu.count):
                yield Change.GPU_MODEL, model, _with_specs(template, _allowing_model(model))
    for term in {term: None for spec in specs for term in spec.job_affinity if term.is_required}:
        dropped = _with_specs(
            template,
            lambda spec, gone=term: replace(  # type: ignore[misc]
                spec, job_affinity=tuple(t for t in spec.job_affinity if t != gone)
            ),
        )
        yield Change.JOB_AFFINITY, term_text(term), dropped
    for spread in {spread: None for spec in specs for spread in spec.spread if spread.required}:
        dropped = _with_specs(
            template,
            lambda spec, gone=spread: replace(  # type: ignore[misc]
                spec, spread=tuple(s for s in spec.spread if s != gone)
            ),
        )
        yield Change.JOB_AFFINITY, f"spread over {spread.topology_key}", dropped
    for rule in template.topology:
        rest = tuple(other for other in template.topology if other != rule)
        yield Change.TOPOLOGY, rule.key, replace(template, topology=rest)
    if any(spec.exclusive for spec in specs):
        yield Change.EXCLUSIVE, "", _with_specs(template, lambda spec: replace(spec, exclusive=False))


def _price(cycle: Cycle, template: JobTemplate, attempt: Try) -> Iterator[Remedy]:
    """The least that a task would have to be allowed to cost an hour."""
    allowed = [group.spec.max_price_micro_per_hour for group in template.groups]
    limits = [limit for limit in allowed if limit is not None]
    if not limits:
        return
    prices = sorted(
        {
            int(price)
            for group in template.groups
            for price in task_price_micro(cycle.snapshot.demand(group.spec), cycle.snapshot.nodes)
            if price > min(limits)
        },
        reverse=True,
    )

    def at(count: int) -> Trial | None:
        """With the `count`-th highest price as the limit: the more of them, the lower."""
        return attempt(_with_specs(template, _paying(prices[count - 1])))

    found = _largest(len(prices), at)
    if found is not None:
        yield _remedy(Change.PRICE, found[1], "", min(limits), prices[found[0] - 1])


def _paying(most: int) -> Callable[[TaskSpec], TaskSpec]:
    def change(spec: TaskSpec) -> TaskSpec:
        limit = spec.max_price_micro_per_hour
        return spec if limit is None else replace(spec, max_price_micro_per_hour=max(limit, most))

    return change


def _untolerated(specs: list[TaskSpec], taints: tuple[Taint, ...]) -> list[Taint]:
    return [
        taint
        for taint in taints
        if taint.effect is not Effect.PREFER_NO_SCHEDULE
        and any(not tolerated(taint, spec.tolerations) for spec in specs)
    ]


def _tolerating(extra: tuple[Toleration, ...]) -> Callable[[TaskSpec], TaskSpec]:
    return lambda spec: replace(spec, tolerations=spec.tolerations + extra)


def _without_label(pair: tuple[str, str]) -> Callable[[TaskSpec], TaskSpec]:
    return lambda spec: replace(
        spec, node_selector=tuple(other for other in spec.node_selector if other != pair)
    )


def _allowing_pool(pool: str) -> Callable[[TaskSpec], TaskSpec]:
    return lambda spec: replace(spec, pools=(*spec.pools, pool)) if spec.pools else spec


def _allowing_model(model: str) -> Callable[[TaskSpec], TaskSpec]:
    def change(spec: TaskSpec) -> TaskSpec:
        gpu: GpuRequest = spec.gpu
        return replace(spec, gpu=replace(gpu, models=(*gpu.models, model))) if gpu.models else spec

    return change


# -- more weight


def _priority(cycle: Cycle, template: JobTemplate, attempt: Try) -> Iterator[Remedy]:
    """The lowest class from which on it would start, by preempting."""
    for priority in sorted(Priority):
        if priority > template.priority:
            trial = attempt(replace(template, priority=int(priority), may_preempt=None))
            if trial is not None and trial.evicts:
                yield _remedy(Change.PRIORITY, trial, "", template.priority, int(priority))
                return
