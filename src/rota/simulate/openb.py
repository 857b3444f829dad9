"""The packing experiment on the openb trace: how much of the GPUs can be allocated?

Pods arrive one by one at an empty cluster; each is placed at once, or dropped for good; nothing ever ends.
That is one decision about a queue that is served first come, first served: what finds no room when its turn
comes finds none later.

Weng et al., "Beware of Fragmentation", USENIX ATC 2023, define it; docs/gpu-packing.md says it in full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rota.engine.decide import decide
from rota.engine.plugin import Plugins
from rota.intake.traces.openb import Arrivals, OpenbNode, OpenbPod
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, TaskGroup
from rota.model.node import Node
from rota.model.plan import Plan
from rota.model.policy import (
    PluginConfig,
    Policy,
    Preemption,
    QueuePolicy,
    QueueStrategy,
    SchedulerPolicy,
    Selection,
    Strategy,
    Weights,
    default_weights,
)
from rota.model.resources import WHOLE_GPU_MILLI
from rota.model.task import TaskSpec
from rota.plugins import FILTERS, NAMED, SCORES
from rota.plugins.packing.mix import format_mix, mix_of
from rota.snapshot import snapshot_of

_PLAIN = {strategy.value: strategy for strategy in Strategy if strategy is not Strategy.CUSTOM}
POLICIES = (*NAMED, *_PLAIN)


@dataclass(frozen=True)
class PackingResult:
    allocated: dict[int, float]
    """Percent of the GPUs, by the percent of them that had been asked for by then."""
    placed: dict[str, float]
    """The share of the pods that were placed, by class."""


def run(
    nodes: Sequence[OpenbNode], pods: Sequence[OpenbPod], arrivals: Arrivals, policy_name: str
) -> PackingResult:
    """`policy_name`: one of POLICIES."""
    specs = [pod.spec for pod in pods]
    plan = _decided(_records(nodes, specs, arrivals), _policy(policy_name, specs))
    placed = {int(binding.job) for binding in plan.bindings}
    arrived = [pods[row] for row in arrivals.order]
    return PackingResult(_allocated(nodes, arrived, placed), _placed(arrived, placed))


def _records(nodes: Sequence[OpenbNode], specs: Sequence[TaskSpec], arrivals: Arrivals) -> ClusterRecords:
    template = {spec: JobTemplate((TaskGroup(spec),)) for spec in specs}
    return ClusterRecords(
        # Of equally good nodes the engine takes the one with the lowest name.
        nodes=tuple(
            Node(NodeName(f"{rank:06}"), node.spec)
            for node, rank in zip(nodes, arrivals.node_rank, strict=True)
        ),
        jobs=tuple(
            JobRecord(Job(JobId(str(number)), template[specs[row]], submitted_ms=number))
            for number, row in enumerate(arrivals.order)
        ),
    )


def _policy(name: str, specs: Sequence[TaskSpec]) -> Policy:
    """Plugins learn the mix from the list of pods, not from the arrivals, which are the future."""
    if name in NAMED:
        selection = Selection(Strategy.CUSTOM, name)
        weights = Weights(utilisation=1, load=0, affinity=0, proximity=0)
        mix = format_mix(mix_of(Counter(specs).items()))
        plugins: tuple[PluginConfig, ...] = (PluginConfig(name, settings=(("mix", mix),)),)
    else:
        selection, plugins = Selection(_PLAIN[name]), ()
        weights = default_weights(selection.strategy)
    scheduler = SchedulerPolicy(
        selection=selection,
        weights=weights,
        queues=(QueuePolicy(strategy=QueueStrategy.FIFO),),
        preemption=Preemption(enabled=False),
        plugins=plugins,
    )
    return Policy((scheduler,))


def _decided(records: ClusterRecords, policy: Policy) -> Plan:
    snapshot = snapshot_of(records, policy.defaults)
    plan = decide(snapshot, policy, len(records.jobs), Plugins(FILTERS, SCORES, NAMED))
    if plan.faults:
        fault = plan.faults[0]
        raise RuntimeError(f"plugin {fault.plugin}, {fault.call}: {fault.error}")
    return plan


def _allocated(nodes: Sequence[OpenbNode], arrived: Sequence[OpenbPod], placed: set[int]) -> dict[int, float]:
    percent_milli = sum(node.gpus for node in nodes) * WHOLE_GPU_MILLI / 100
    asked_milli = used_milli = 0
    used_at: dict[int, list[float]] = {}
    for number, pod in enumerate(arrived):
        asked_milli += pod.gpus * pod.gpu_milli
        if number in placed:
            used_milli += pod.gpus * pod.gpu_milli
        used_at.setdefault(round(asked_milli / percent_milli), []).append(
            round(used_milli / percent_milli, 2)
        )
    return {load: round(sum(used) / len(used), 2) for load, used in used_at.items()}


def class_of(pod: OpenbPod) -> str:
    if not pod.gpus:
        return "cpu-only"
    if pod.gpus > 1:
        return "multi-gpu"
    return "share" if pod.gpu_milli < WHOLE_GPU_MILLI else "1-gpu"


def _placed(arrived: Sequence[OpenbPod], placed: set[int]) -> dict[str, float]:
    total = Counter(map(class_of, arrived))
    found = Counter(class_of(pod) for number, pod in enumerate(arrived) if number in placed)
    return {name: round(found[name] / total[name], 4) for name in sorted(total)}
