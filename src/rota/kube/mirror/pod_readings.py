"""What pods are, as they were read last: a task each, or what keeps a pod from being decided about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import structlog
from msgspec.structs import replace

from rota.kube.mirror.dependents import DependentPods, nominated_node
from rota.kube.mirror.gangs import GangReading
from rota.kube.mirror.pod_context import PodContext
from rota.kube.mirror.pod_groups import PodGroups
from rota.kube.mirror.pod_rules import PodRules, as_if_silent
from rota.kube.mirror.reading import problem_of, read_pod
from rota.kube.mirror.reasons import AwaitsVictims, GangIncomplete, GangOthersFirst, Hold, Misread, Unusable
from rota.kube_objects.errors import FieldError
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.pods import GangKeys, PodState, PodTask
from rota.kube_objects.selectors import named_nodes
from rota.model.ids import NodeName, TaskName

log = structlog.get_logger()


class PodReadings:
    def __init__(
        self,
        scheduler_name: str,
        gang_keys: GangKeys,
        context: PodContext,
        groups: PodGroups,
        dependents: DependentPods,
        rules: PodRules,
    ) -> None:
        self.tasks: dict[TaskName, PodTask] = {}
        self.holds: dict[TaskName, Hold] = {}
        """Pods that aren't decided about, and why."""
        self.misreads: dict[TaskName, Misread] = {}
        self._scheduler_name = scheduler_name
        self._gang_keys = gang_keys
        self._context = context
        self._groups = groups
        self._dependents = dependents
        self._rules = rules

    def is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name == self._scheduler_name

    # -- reading

    def read_again(
        self,
        name: TaskName,
        pod: Pod | None,
        assumed: Mapping[TaskName, NodeName],
        devices: tuple[int, ...] = (),
    ) -> PodTask | None:
        """None: the pod is gone, or can't be read. `assumed`: pods that were given nodes, and which.
        `devices`: GPUs of which this one was given a share."""
        self.tasks.pop(name, None)
        self.holds.pop(name, None)
        self.misreads.pop(name, None)
        task = None if pod is None else self._read(name, pod, assumed.get(name), devices)
        if task is not None:
            self.tasks[name] = task
        return task

    def _read(
        self, name: TaskName, pod: Pod, assumed_on: NodeName | None, devices: tuple[int, ...]
    ) -> PodTask | None:
        try:
            task, misread = read_pod(pod, self._context.reader, self._gang_keys.annotation)
        except FieldError as error:
            if pod.spec.node_name:
                log.warning("kube.pod_uncounted", pod=name, why=problem_of(error))
            else:
                self.holds[name] = Unusable(problem_of(error))
            return None
        if misread is not None and self.is_ours(pod) and not pod.spec.node_name:
            self.misreads[name] = misread
        hold: Hold | None = None
        if not self.is_ours(pod):
            # A gang of another scheduler is none of ours.
            task = replace(task, gang="", min_available=None) if task.gang else task
        elif not task.gang:
            task, hold = self._groups.joined(pod, task)
        if (refusal := self._rules.refusal(task.template)) is not None:
            # One that runs goes on, as if it had said nothing.
            task = replace(task, template=as_if_silent(task.template))
            hold = hold or refusal
        if task.state is PodState.RUNNING and pod.metadata.deletion_timestamp is not None:
            # It is ending already: nothing is won by evicting it.
            task = replace(task, template=replace(task.template, preemptible=False))
        if task.state is not PodState.WAITING:
            return task
        if assumed_on is not None:
            return replace(task, state=PodState.RUNNING, node=assumed_on, gpu_devices=devices)
        if hold is None and named_nodes(task.spec.node_affinity) != set():
            # Otherwise no claim would help it: kube-scheduler doesn't even look at them.
            hold = self._context.volumes.hold(pod)
        hold = hold or self._awaited(pod, task)
        if hold is not None:
            self.holds[name] = hold
            # To its gang it is there, but it can't start.
            return replace(task, state=PodState.GATED)
        return task

    def _awaited(self, pod: Pod, task: PodTask) -> Hold | None:
        node = nominated_node(pod)
        for name in self._dependents.ending_on(node):
            victim = self.tasks.get(name)
            if victim is not None and victim.template.priority < task.template.priority:
                return AwaitsVictims(node)
        return None

    def note_gang(self, tasks: Sequence[PodTask], reading: GangReading) -> None:
        """What was found out about a gang counts for its pods."""
        gang = tasks[0].gang
        holds, misread = reading.holds(gang), reading.misread(gang, self._gang_keys)
        for task in tasks:
            if task.name in holds:
                self.holds[task.name] = holds[task.name]
            elif isinstance(self.holds.get(task.name), GangIncomplete | GangOthersFirst):
                del self.holds[task.name]
            if misread is not None and task.state is PodState.WAITING:
                self.misreads[task.name] = misread
