"""A cluster as it changes, as records to decide with: pods become jobs, gangs of pods one job each.

    informers ─► what has changed ─► settle: read again, once for each pod ─► ClusterState ─► snapshot

What the scheduler has decided counts before the cluster shows it: a pod is assumed on its node until it is
seen there, or until binding it has failed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import structlog
from msgspec.structs import replace

from rota.intake._fields import Field
from rota.intake.document import document_of
from rota.intake.errors import InputError
from rota.intake.kubernetes.faults import FieldError
from rota.intake.kubernetes.namespaces import namespace_of
from rota.intake.kubernetes.nodes import as_node
from rota.intake.kubernetes.objects import Metadata, Namespace, Node, Pod
from rota.intake.kubernetes.pods import GangKeys, PodState, PodTask
from rota.kube.budgets import Budgets
from rota.kube.gangs import GangReading, gang_id_of, read_gang
from rota.kube.reasons import AwaitsVictims, GangIncomplete, Hold, Misread, Unusable
from rota.kube.related import RelatedPods, is_over, nominated_node
from rota.kube.surroundings import ClaimKey, Surroundings
from rota.kube.waiters import Waiters
from rota.model.ids import JobId, NodeName, TaskName
from rota.model.node import Node as ModelNode
from rota.model.policy import NO_DEFAULTS, Defaults
from rota.model.taints import Effect
from rota.snapshot.state import ClusterState

log = structlog.get_logger()

GANG_SETTLES_S = 1.0
"""A gang that doesn't say how many pods it will have is complete once none has come for so long."""
_NEVER_MS = 2**62
_CHANGES_KEPT = 50_000
"""The state remembers every kind of job that it has seen; after so many changes it is a new one."""
_NOWHERE = Field(document_of(None))
"""A pod is no part of a file: its name says where to look."""


def name_of(metadata: Metadata) -> TaskName:
    return TaskName(f"{namespace_of(metadata)}/{metadata.name}")


class Mirror:
    def __init__(
        self,
        scheduler_name: str,
        gang_keys: GangKeys,
        changed: Callable[[], None],
        defaults: Defaults = NO_DEFAULTS,
    ) -> None:
        """`changed` is told of what may let somebody start."""
        self.scheduler_name = scheduler_name
        self.state = ClusterState(defaults)
        """Current once it is settled."""
        self.holds: dict[TaskName, Hold] = {}
        """Pods that aren't decided about, and why."""
        self.misreads: dict[TaskName, Misread] = {}
        self.torn: dict[JobId, tuple[TaskName, ...]] = {}
        """Gangs of which some are bound, too few, and who those are."""
        self.surroundings = Surroundings(gang_keys, self._claim_changed)
        self.budgets = Budgets(self._budgets_changed)
        self._is_sparing = True
        self._spared: set[TaskName] = set()
        """Running pods that a budget holds."""
        self._gang_keys = gang_keys
        self._told = changed
        self._defaults = defaults
        self._changes = 0
        self._nodes: dict[NodeName, ModelNode] = {}
        self._pods: dict[TaskName, Pod] = {}
        """Those that run, and ours."""
        self._tasks: dict[TaskName, PodTask] = {}
        self._members: defaultdict[JobId, set[TaskName]] = defaultdict(set)
        self._joined_s: dict[JobId, float] = {}
        """When the last pod joined a gang."""
        self._settling: set[JobId] = set()
        self._assumed: dict[TaskName, NodeName] = {}
        self._changed: dict[TaskName, None] = {}
        self._changed_gangs: dict[JobId, None] = {}
        self._related = RelatedPods()
        self._waiters = Waiters()

    # -- told by informers

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            assert old is not None
            name = NodeName(old.metadata.name or "")
            if self._nodes.pop(name, None) is not None:
                self.state.remove_node(name)
                self._told()
            return
        try:
            node = _without_ends(as_node(new))
        except FieldError as error:
            log.warning("a node can't be used", node=new.metadata.name, why=_problem(error))
            if old is not None:
                self.node_changed(old, None)
            return
        if self._nodes.get(node.name) != node:
            self._nodes[node.name] = node
            self.state.set_node(node)
            self._told()

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        name = name_of(pod.metadata)
        if new is not None and (new.spec.node_name or self._is_ours(new)):
            is_confirmed = self._assumed.get(name, "") == (new.spec.node_name or None)
            self._pods[name] = new
        else:
            if self._pods.pop(name, None) is None:
                return
            is_confirmed = False
        if new is None or new.spec.node_name:
            self._assumed.pop(name, None)
        self._changed.update(dict.fromkeys(self._related.change(name, old, new)))
        self._waiters.look()
        if old is not None and new is not None and _waits_as_before(old, new):
            return
        self._changed[name] = None
        if not is_confirmed:
            self._told()

    def namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if self.surroundings.namespace(old, new) and self._related.selecting:
            self._changed.update(dict.fromkeys(self._related.selecting))
            self._told()

    def _claim_changed(self, claim: ClaimKey) -> None:
        self._waiters.look()
        if users := self._related.users_of(claim):
            self._changed.update(dict.fromkeys(users))
            self._told()

    def _budgets_changed(self, namespace: str) -> None:
        prefix = f"{namespace}/"
        self._changed.update(dict.fromkeys(name for name in self._pods if name.startswith(prefix)))
        self._told()

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name == self.scheduler_name

    # -- told by the scheduler

    def assume(self, placed: Mapping[TaskName, NodeName]) -> None:
        self._assumed.update(placed)
        self._changed.update(dict.fromkeys(placed))

    def forget(self, names: Iterable[TaskName]) -> None:
        """They aren't bound after all."""
        for name in names:
            if self._assumed.pop(name, None) is not None:
                self._changed[name] = None

    def spare(self, is_sparing: bool) -> None:
        """Whether pods that a budget holds are left alone when room is made for others."""
        if is_sparing != self._is_sparing:
            self._is_sparing = is_sparing
            self._changed.update(dict.fromkeys(self._spared))

    # -- asked

    def least_spared_priority(self) -> int | None:
        """Of the pods that a budget holds; None: there are none."""
        tasks = (self._tasks.get(name) for name in self._spared)
        return min((task.template.priority for task in tasks if task is not None), default=None)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Returns once pods or claims are so."""
        await self._waiters.until(is_so)

    def pod(self, name: TaskName) -> Pod | None:
        return self._pods.get(name)

    def task(self, name: TaskName) -> PodTask | None:
        return self._tasks.get(name)

    def has_node(self, name: NodeName) -> bool:
        return name in self._nodes

    @property
    def node_count(self) -> int:
        return len(self._nodes)

    def settle(self, now_s: float) -> float | None:
        """Takes in what has changed. After so many seconds something changes by itself; None: never."""
        self._renew()
        changed, self._changed = self._changed, {}
        for name in changed:
            self._read_again(name, now_s)
        for gang_id in list(self._settling):
            if now_s >= self._joined_s.get(gang_id, 0.0) + GANG_SETTLES_S:
                self._settling.discard(gang_id)
                self._changed_gangs[gang_id] = None
        gangs, self._changed_gangs = self._changed_gangs, {}
        for gang_id in gangs:
            self._gather(gang_id, now_s)
        if not self._settling:
            return None
        return max(0.0, min(self._joined_s[one] for one in self._settling) + GANG_SETTLES_S - now_s)

    def _renew(self) -> None:
        self._changes += len(self._changed)
        if self._changes > _CHANGES_KEPT + 4 * len(self._pods):
            self._changes = 0
            fresh = ClusterState(self._defaults)
            fresh.load(self.state.records())
            self.state = fresh

    # -- reading

    def _read_again(self, name: TaskName, now_s: float) -> None:
        before = self._tasks.pop(name, None)
        self._spared.discard(name)
        self.holds.pop(name, None)
        self.misreads.pop(name, None)
        pod = self._pods.get(name)
        task = None if pod is None else self._read(name, pod)
        gang_before = gang_id_of(before) if before is not None and before.gang else None
        gang = gang_id_of(task) if task is not None and task.gang else None
        if gang_before is not None and gang_before != gang:
            self._leave(gang_before, name)
        if task is not None:
            self._tasks[name] = task
        if gang is not None:
            if name not in self._members[gang]:
                self._members[gang].add(name)
                self._joined_s[gang] = now_s
            self._changed_gangs[gang] = None
        if gang is None and task is not None and task.state in (PodState.WAITING, PodState.RUNNING):
            self.state.set_job(task.as_job())
        else:
            self._drop(JobId(name))

    def _leave(self, gang: JobId, name: TaskName) -> None:
        self._members[gang].discard(name)
        self._changed_gangs[gang] = None

    def _read(self, name: TaskName, pod: Pod) -> PodTask | None:
        try:
            task = self._read_gang_keys(name, pod)
        except FieldError as error:
            if pod.spec.node_name:
                log.warning("a running pod can't be counted", pod=name, why=_problem(error))
            else:
                self.holds[name] = Unusable(_problem(error))
            return None
        if not self._is_ours(pod) and task.gang:
            task = replace(task, gang="", min_available=None)
        if task.state is PodState.RUNNING and self._is_left_alone(name, pod):
            task = replace(task, template=replace(task.template, preemptible=False))
        if task.state is not PodState.WAITING:
            return task
        if (node := self._assumed.get(name)) is not None:
            return replace(task, state=PodState.RUNNING, node=node)
        hold = self.surroundings.claims_hold(pod) or self._awaited(pod, task)
        if hold is not None:
            self.holds[name] = hold
            # To its gang it is there, but it can't start.
            return replace(task, state=PodState.GATED)
        return task

    def _is_left_alone(self, name: TaskName, pod: Pod) -> bool:
        if pod.metadata.deletion_timestamp is not None:
            return True  # It is ending already: nothing is won by evicting it.
        if not self.budgets.hold(pod):
            return False
        self._spared.add(name)
        return self._is_sparing

    def _read_gang_keys(self, name: TaskName, pod: Pod) -> PodTask:
        """An annotation that can't be used is told, and the pod goes with all of its gang."""
        try:
            return self.surroundings.reader.read(pod, _NOWHERE)
        except FieldError as error:
            key = self._gang_keys.annotation
            if error.path != ("metadata", "annotations", key):
                raise
            self.misreads[name] = Misread(_problem(error), "all pods of the gang start together")
            others = {one: value for one, value in (pod.metadata.annotations or {}).items() if one != key}
            pod = replace(pod, metadata=replace(pod.metadata, annotations=others))
            return self.surroundings.reader.read(pod, _NOWHERE)

    def _awaited(self, pod: Pod, task: PodTask) -> Hold | None:
        node = nominated_node(pod)
        for name in self._related.ending_on(node):
            victim = self._tasks.get(name)
            if victim is not None and victim.template.priority < task.template.priority:
                return AwaitsVictims(node)
        return None

    def _gather(self, gang_id: JobId, now_s: float) -> None:
        members = self._members.get(gang_id, set())
        tasks = [self._tasks[name] for name in sorted(members) if name in self._tasks]
        self.torn.pop(gang_id, None)
        if not tasks:
            self._members.pop(gang_id, None)
            self._joined_s.pop(gang_id, None)
            self._settling.discard(gang_id)
            self._drop(gang_id)
            return
        reading = read_gang(gang_id, tasks, self._gang_keys)
        self._note(gang_id, tasks, reading)
        is_starting = not any(task.state is PodState.RUNNING for task in tasks)
        settled_s = self._joined_s.get(gang_id, now_s) + GANG_SETTLES_S
        if reading.is_open_ended and is_starting and now_s < settled_s:
            self._settling.add(gang_id)
            self._drop(gang_id)
            return
        if reading.torn:
            self.torn[gang_id] = reading.torn
        if reading.record is None:
            self._drop(gang_id)
        else:
            self.state.set_job(reading.record)

    def _note(self, gang_id: JobId, tasks: list[PodTask], reading: GangReading) -> None:
        held = set(reading.held)
        incomplete = GangIncomplete(tasks[0].gang, reading.ready, reading.needed)
        for task in tasks:
            if task.name in held:
                self.holds[task.name] = incomplete
            elif isinstance(self.holds.get(task.name), GangIncomplete):
                del self.holds[task.name]
            if reading.disagreement is not None and task.state is PodState.WAITING:
                said = " and ".join(reading.disagreement.said)
                self.misreads[task.name] = Misread(
                    f"pods of the gang {tasks[0].gang} say different things of {self._gang_keys.annotation}:"
                    f" {said}; give all the same",
                    reading.disagreement.assumed,
                )

    def _drop(self, job_id: JobId) -> None:
        if self.state.has_job(job_id):
            self.state.remove_job(job_id)


def _without_ends(node: ModelNode) -> ModelNode:
    """Pods that a NoExecute taint drives out are the business of a controller of the cluster: to us such a
    taint keeps new ones away, and never becomes due."""
    taints = tuple(
        replace(taint, added_ms=_NEVER_MS)
        if taint.effect is Effect.NO_EXECUTE
        else replace(taint, added_ms=0)
        for taint in node.spec.taints
    )
    return node if taints == node.spec.taints else replace(node, spec=replace(node.spec, taints=taints))


def _waits_as_before(old: Pod, new: Pod) -> bool:
    """Only its status has changed, and that by whoever schedules it."""
    return (
        not new.spec.node_name
        and new.spec == old.spec
        and new.metadata.labels == old.metadata.labels
        and new.metadata.annotations == old.metadata.annotations
        and new.metadata.deletion_timestamp == old.metadata.deletion_timestamp
        and is_over(new) == is_over(old)
        and nominated_node(new) == nominated_node(old)
    )


def _problem(error: FieldError) -> str:
    return str(InputError("", error.problem, error.remedy, path=error.path))
