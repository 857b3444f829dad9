"""A plan as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rota.cli.questions.waiting_table import waiting_table
from rota.cli.tables import BAD, GOOD, PASSING, QUIET, Shown, heading, new_table
from rota.cli.text import Text
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate
from rota.model.plan import Binding
from rota.model.quantities import format_duration, format_price
from rota.views.folding import fold_counted, fold_names, stem
from rota.views.plan.view import PlanView
from rota.views.times import Clock
from rota.views.wording import cause_text, count_text, price_text, priority_text

_MANY_ALIKE = 10


def plan_tables(view: PlanView, clock: Clock, *, wide: bool) -> Iterator[Shown]:
    if view.bindings:
        yield heading("Starts")
        yield _placed_wide(view) if wide else _placed(view)
        yield ""
    if view.evictions:
        yield heading("Evicted")
        yield _evicted(view)
        yield ""
    if view.plan.waiting:
        yield heading("Waits")
        yield waiting_table(view, clock, wide=wide)
        yield ""
    yield summary(view)


# -- what starts


def _placed(view: PlanView) -> Shown:
    table = new_table("job", "tasks", "nodes", right=("tasks",))
    for jobs in _rows(view):
        bindings = [binding for job_id in jobs for binding in view.bindings[job_id]]
        table.add_row(fold_names(jobs), _task_count(view, jobs, len(bindings)), _nodes_text(view, bindings))
    return table


def _rows(view: PlanView) -> Iterable[list[JobId]]:
    """One job a row; but many that differ in nothing but a number are one."""
    alike: dict[tuple[JobTemplate, str], list[JobId]] = {}
    for job_id in view.bindings:
        alike.setdefault((view.job(job_id).template, stem(job_id)), []).append(job_id)
    rows = [
        row
        for jobs in alike.values()
        for row in ([jobs] if len(jobs) >= _MANY_ALIKE else [[job_id] for job_id in jobs])
    ]
    return sorted(rows, key=lambda row: row[0])


def _task_count(view: PlanView, jobs: Iterable[JobId], count: int) -> Text:
    left = sum(len(view.waiting_ranks(job_id)) for job_id in jobs)
    return Text(f"{count:,} of {count + left:,}", style=PASSING) if left else Text(f"{count:,}")


def _nodes_text(view: PlanView, bindings: Iterable[Binding]) -> Text:
    nodes = [binding.node for binding in bindings]
    new = [node for node in nodes if view.must_be_started(node)]
    ready = [node for node in nodes if not view.must_be_started(node)]
    text = Text(fold_counted(ready))
    if new:
        text.append("; " if ready else "")
        text.append(f"to be started: {fold_counted(new)}", style=PASSING)
    return text


def _placed_wide(view: PlanView) -> Shown:
    table = new_table(
        "job",
        "priority",
        "tasks",
        "node",
        "ready",
        "gpus",
        "pool",
        "backend",
        "price/h",
        right=("tasks", "price/h"),
        whole=("node",),
        dropped=("backend", "price/h", "pool", "ready", "gpus", "priority"),
    )
    for job_id, bindings in view.bindings.items():
        priority = priority_text(view.job(job_id).template.priority)
        for at, (node, on_node) in enumerate(_by_node(bindings).items()):
            spec = view.node_spec(node)
            table.add_row(
                Text(job_id, style=QUIET if at else ""),
                priority,
                str(len(on_node)),
                node,
                _readiness(view, node),
                _devices_text(on_node),
                spec.pool,
                spec.backend,
                format_price(spec.price_micro_per_hour) if spec.price_micro_per_hour else "",
            )
    return table


def _readiness(view: PlanView, node: NodeName) -> Text:
    if not view.must_be_started(node):
        return Text("now")
    startup_ms = view.startup_ms(node)
    return Text(f"in {format_duration(startup_ms)}" if startup_ms else "to be started", style=PASSING)


def _by_node(bindings: Iterable[Binding]) -> dict[NodeName, list[Binding]]:
    by_node: dict[NodeName, list[Binding]] = {}
    for binding in bindings:
        by_node.setdefault(binding.node, []).append(binding)
    return {node: by_node[node] for node in sorted(by_node)}


def _devices_text(bindings: Iterable[Binding]) -> str:
    devices = sorted({device for binding in bindings for device in binding.gpu_devices})
    return ",".join(map(str, devices))


# -- what is evicted


def _evicted(view: PlanView) -> Shown:
    table = new_table("job", "tasks", "nodes", "cause", "for", right=("tasks",))
    for job_id, evictions in view.evictions.items():
        for cause, preemptor in dict.fromkeys((cause_text(one), one.preemptor) for one in evictions):
            alike = [one for one in evictions if (cause_text(one), one.preemptor) == (cause, preemptor)]
            table.add_row(
                job_id,
                str(len(alike)),
                fold_counted(one.node for one in alike),
                Text(cause, style=BAD),
                preemptor,
            )
    return table


# -- all in one line


def summary(view: PlanView) -> Text:
    asked, placed = view.asked_count, len(view.plan.bindings)
    nodes = view.used_nodes()
    new = [node for node in nodes if view.must_be_started(node)]
    text = Text()
    if asked:
        text.append(
            f"{placed:,} of {count_text(asked, 'task')} placed", style=GOOD if placed == asked else ""
        )
        if placed:
            text.append(f" on {count_text(len(nodes), 'node')}")
        if new:
            text.append(f" ({len(new):,} to be started)", style=PASSING)
    else:
        text.append("no task waited to be placed")
    if view.plan.evictions:
        text.append(", ").append(count_text(len(view.plan.evictions), "eviction"), style=BAD)
    waiting = sum(len(entry.jobs) for entry in view.plan.waiting)
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        text.append(", ").append(f"{count_text(waiting, 'job')} {verb}", style=PASSING)
    text.append(_cost_text(view, nodes, new))
    return text


def _cost_text(view: PlanView, nodes: Sequence[NodeName], new: Sequence[NodeName]) -> str:
    """What the nodes in use cost, and how much of that the plan adds."""
    total, added = (sum(view.node_spec(node).price_micro_per_hour for node in some) for some in (nodes, new))
    if not total:
        return ""
    return f" · {price_text(total)}" + (f" ({format_price(added)} new)" if added else "")
