"""Reads the options and files of a simulation into what the simulator needs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import typer
from msgspec.structs import replace

from rota.cli.output import talk
from rota.cli.policies.options import SimOptions
from rota.intake.errors import InputError
from rota.intake.files import read_policy
from rota.intake.traces.files import TraceOptions, read_machine, read_workload
from rota.loop.hosting.plugin_host import PluginHost
from rota.model.cluster import ClusterRecords
from rota.model.policy import Backfill, Policy, QueuePolicy, SchedulerPolicy
from rota.model.quantities import parse_duration_ms
from rota.model.workload import Workload
from rota.simulate.workloads import Carelessness, at_load, with_careless_limits, with_interactive

R = TypeVar("R")

INTERACTIVE = "interactive"
DEFAULT = "default"


@dataclass(frozen=True, eq=False)
class Experiment:
    workload: Workload
    cluster: ClusterRecords
    policies: tuple[tuple[str, Policy], ...]
    host: PluginHost
    seed: int
    every_ms: int
    tells: bool


def read_experiment(options: SimOptions, policy_files: Sequence[str]) -> Experiment:
    every_ms = _checked("--every", lambda: parse_duration_ms(options.every or 0))
    host = PluginHost()
    # Reading makes millions of objects that all stay: looking for garbage in between triples the time.
    gc.disable()
    policies = [read_policy(file, host.names) for file in policy_files] or [Policy()]
    trace = TraceOptions(workload=options.which, tasks="whole" if options.whole else None)
    workload = read_workload(options.workload, options.format, options=trace)
    for note in workload.notes:
        talk(f"note: {note}")
    if not workload.jobs:
        raise InputError(options.workload, "has no jobs", "give a workload with at least one")
    cluster = _cluster(options, workload)
    if options.first is not None:
        workload = replace(workload, jobs=workload.jobs[: options.first])
    workload = _changed(replace(workload, nodes=cluster.nodes), options)
    gc.freeze()
    gc.enable()
    names = _names(policy_files) or [DEFAULT]
    if options.whole:
        _warn_of_places([name for name, one in zip(names, policies, strict=True) if looks_ahead(one)])
    return Experiment(
        workload,
        cluster,
        tuple((name, _fitted(one, workload, options)) for name, one in zip(names, policies, strict=True)),
        host,
        options.seed,
        every_ms,
        options.estimates,
    )


def looks_ahead(policy: Policy) -> bool:
    """Whether it plans later starts. Those are on certain nodes, so it matters whether there are several."""
    return any(
        queue.interactive or (queue.backfill is not Backfill.NONE and not queue.strict)
        for scheduler in policy.schedulers
        for queue in scheduler.queues
    )


def _warn_of_places(names: Sequence[str]) -> None:
    if names:
        talk(
            f"warning: --whole: schedules under {', '.join(names)} may differ from those without it: planned"
            " starts are on certain nodes, and here there is one"
        )


def _cluster(options: SimOptions, workload: Workload) -> ClusterRecords:
    """The workload's own machine, unless another is given."""
    if options.cluster is None:
        if not workload.nodes:
            raise InputError(
                options.workload, "doesn't say which nodes there are", "give them: --cluster FILE"
            )
        return ClusterRecords(nodes=workload.nodes)
    cluster = read_machine(options.cluster, on_note=lambda note: talk(f"note: {note}"))
    jobs = [one.job for one in cluster.jobs] + [one.job for one in cluster.conditional]
    if jobs:
        first = jobs[0].id
        raise InputError(
            options.cluster, f"has jobs, such as {first}", "remove them: jobs come from the workload"
        )
    if not cluster.nodes and not cluster.offers:
        raise InputError(options.cluster, "has no nodes", "give at least one")
    known = {node.name for node in cluster.nodes}
    for one in workload.jobs:
        for placement in one.placements:
            if placement.node not in known:
                problem = f"has no node {placement.node}, on which {one.job.id} runs when the workload begins"
                raise InputError(options.cluster, problem, "run without --cluster")
    return cluster


def _changed(workload: Workload, options: SimOptions) -> Workload:
    if options.limits is not None:
        workload = with_careless_limits(workload, options.seed, _carelessness(options.limits))
    load, share = options.load, options.interactive
    if load is not None:
        workload = _checked("--load", lambda: at_load(workload, load))
    if share is not None:
        workload = _checked(
            "--interactive", lambda: with_interactive(workload, share, options.seed, INTERACTIVE)
        )
    return workload


def _carelessness(name: str) -> Carelessness:
    known = {kind.value: kind for kind in Carelessness}
    if name not in known:
        problem = f"unknown kind of limits: {name}; choose from {', '.join(known)}"
        raise typer.BadParameter(problem, param_hint="--limits")
    return known[name]


def _checked(option: str, change: Callable[[], R]) -> R:
    try:
        return change()
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _names(files: Sequence[str]) -> list[str]:
    """Of the policies: short ones, unless two are the same."""
    short = [Path(file).stem for file in files]
    if len(set(short)) == len(short):
        return short
    if len(set(files)) < len(files):
        raise typer.BadParameter("the same policy is given twice", param_hint="--policy")
    return list(files)


def _fitted(policy: Policy, workload: Workload, options: SimOptions) -> Policy:
    """Adds the workload's quotas if the policy has none, and the queue that jobs were moved to."""
    if workload.fair_share is not None and not policy.fair_share.tenants:
        half_life_ms = policy.fair_share.half_life_ms
        policy = replace(policy, fair_share=replace(workload.fair_share, half_life_ms=half_life_ms))
    if options.interactive is not None:
        policy = replace(policy, schedulers=tuple(map(_with_interactive_queue, policy.schedulers)))
    return policy


def _with_interactive_queue(scheduler: SchedulerPolicy) -> SchedulerPolicy:
    if any(queue.name == INTERACTIVE for queue in scheduler.queues):
        return scheduler
    queue = QueuePolicy(name=INTERACTIVE, interactive=True)
    return replace(scheduler, queues=(*scheduler.queues, queue))
