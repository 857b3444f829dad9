"""A cluster as it changes, as records to decide with: pods become jobs, gangs of pods one job each.

    informers ─► what has changed ─► settle: read again, once for each pod ─► ClusterState ─► snapshot

What the scheduler has decided counts before the cluster shows it: a pod is assumed on its node until it is
seen there, or until binding it has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from rota.kube.mirror.budgets import Budgets
from rota.kube.mirror.dependents import DependentPods, waits_as_before
from rota.kube.mirror.gang_members import GangMembers
from rota.kube.mirror.gangs import GangReading, gang_id_of
from rota.kube.mirror.pod_context import PodContext
from rota.kube.mirror.pod_groups import GroupKey, PodGroups
from rota.kube.mirror.pod_readings import PodReadings
from rota.kube.mirror.pod_rules import PodRules
from rota.kube.mirror.reading import read_node
from rota.kube.mirror.waiters import Waiters
from rota.kube_objects.namespaces import name_of
from rota.kube_objects.objects.metadata import Namespace
from rota.kube_objects.objects.nodes import Node
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.pods import GangKeys, PodState, PodTask
from rota.kube_objects.volumes import ClaimKey
from rota.model.ids import JobId, NodeName, TaskName
from rota.model.node import Node as ModelNode
from rota.model.policy import Policy
from rota.snapshot.state import ClusterState

_CHANGES_KEPT = 10_000
"""The state remembers every kind of job that it has seen; after so many changes it is a new one."""
NO_POLICY = Policy()
NO_DEVICES: Mapping[TaskName, tuple[int, ...]] = {}
Observer: TypeAlias = Callable[[TaskName, PodTask | None, PodTask | None], None]
"""Takes a pod's name, what it was and what it is; None: it wasn't there, or is no longer."""


class Mirror:
    """More than twenty methods, because two sides meet here: informers say what has
    changed, the scheduler what it has decided, and both ask. Most methods pass on to the part that knows:
    `PodReadings`, `GangMembers`, `DependentPods`, `PodContext`."""

    def __init__(
        self,
        scheduler_name: str,
        gang_keys: GangKeys,
        changed: Callable[[], None],
        policy: Policy = NO_POLICY,
        observed: Observer | None = None,
    ) -> None:
        """`changed` is told of what may let somebody start, `observed` of each pod that is read again."""
        self.scheduler_name = scheduler_name
        self.state = ClusterState(policy.defaults)
        """Current once it is settled."""
        self.pod_context = PodContext(gang_keys, self._claim_changed)
        self.budgets = Budgets(changed)
        self.pod_groups = PodGroups(self._group_changed)
        self._told = changed
        self._defaults = policy.defaults
        self._observed = observed
        self._changes = 0
        self._nodes: dict[NodeName, ModelNode] = {}
        self._pods: dict[TaskName, Pod] = {}
        """Those that run, and ours."""
        self._gang_members = GangMembers(gang_keys)
        self._assumed: dict[TaskName, NodeName] = {}
        self._devices: dict[TaskName, tuple[int, ...]] = {}
        """Of those who are assumed somewhere and have a share of a GPU: of which."""
        self._changed: dict[TaskName, None] = {}
        self._dependents = DependentPods()
        self._readings = PodReadings(
            scheduler_name,
            gang_keys,
            self.pod_context,
            self.pod_groups,
            self._dependents,
            PodRules(policy),
        )
        self._tasks = self._readings.tasks
        self.holds = self._readings.holds
        self.misreads = self._readings.misreads
        self._waiters = Waiters()

    # -- told by informers

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            assert old is not None
            name = NodeName(old.metadata.name or "")
            if self._nodes.pop(name, None) is not None:
                self.pod_context.volumes.node(name, None)
                self._gpus_changed(name, None)
                self.state.remove_node(name)
                self._told()
            return
        node = read_node(new)
        if node is None:
            if old is not None:
                self.node_changed(old, None)
            return
        if self._nodes.get(node.name) != node:
            self._nodes[node.name] = node
            self.pod_context.volumes.node(node.name, dict(node.spec.labels))
            self._gpus_changed(node.name, node)
            self.state.set_node(self.pod_context.volumes.equipped(node))
            self._told()

    def _gpus_changed(self, name: NodeName, node: ModelNode | None) -> None:
        if self.pod_context.shared_gpus.set(name, node):
            self._changed.update(dict.fromkeys(self._dependents.sharing_gpus))

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        name = name_of(pod.metadata)
        if new is not None and (new.spec.node_name or self._readings.is_ours(new)):
            is_confirmed = self._assumed.get(name, "") == (new.spec.node_name or None)
            self._pods[name] = new
        else:
            if self._pods.pop(name, None) is None:
                return
            is_confirmed = False
        if new is None or new.spec.node_name:
            self._assumed.pop(name, None)
            self._devices.pop(name, None)
        self._changed.update(dict.fromkeys(self._dependents.change(name, old, new)))
        self.pod_context.volumes.pod(name, old, new)
        self._waiters.look()
        if old is not None and new is not None and waits_as_before(old, new):
            return
        self._changed[name] = None
        if not is_confirmed:
            self._told()

    def namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if self.pod_context.namespace(old, new) and self._dependents.selecting:
            self._changed.update(dict.fromkeys(self._dependents.selecting))
            self._told()

    def _group_changed(self, group: GroupKey) -> None:
        if members := self._dependents.members_of(group):
            self._changed.update(dict.fromkeys(members))
            self._told()

    def _claim_changed(self, claim: ClaimKey) -> None:
        self._waiters.look()
        if users := self._dependents.users_of(claim):
            self._changed.update(dict.fromkeys(users))
            self._told()

    # -- told by the scheduler

    def assume(
        self, placed: Mapping[TaskName, NodeName], devices: Mapping[TaskName, tuple[int, ...]] = NO_DEVICES
    ) -> bool:
        """False: others, who were placed with them, have the volumes that they were to get."""
        for name, node in placed.items():
            pod = self._pods.get(name)
            if pod is not None and not self.pod_context.volumes.reserve(name, pod, node):
                self._release(placed)
                return False
        self._assumed.update(placed)
        self._devices.update(devices)
        self._changed.update(dict.fromkeys(placed))
        return True

    def forget(self, names: Iterable[TaskName]) -> None:
        """They aren't bound after all."""
        forgotten = [name for name in names if self._assumed.pop(name, None) is not None]
        for name in forgotten:
            self._devices.pop(name, None)
        self._changed.update(dict.fromkeys(forgotten))
        self._release(forgotten)

    def _release(self, names: Iterable[TaskName]) -> None:
        for name in names:
            if (pod := self._pods.get(name)) is not None:
                self.pod_context.volumes.release(name, pod)

    # -- asked

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Returns once pods or claims are so."""
        await self._waiters.until(is_so)

    def pod(self, name: TaskName) -> Pod | None:
        return self._pods.get(name)

    def task(self, name: TaskName) -> PodTask | None:
        return self._tasks.get(name)

    def gang_of(self, name: TaskName) -> GangReading | None:
        """The gang that a pod is of, as it was read last; None: of none."""
        task = self._tasks.get(name)
        return None if task is None or not task.gang else self._gang_members.reading(gang_id_of(task))

    def gang_members(self, name: TaskName) -> list[PodTask]:
        """All pods of the gang that a pod is of, with itself; none, if it is of none."""
        task = self._tasks.get(name)
        members = self._gang_members.members(gang_id_of(task)) if task is not None and task.gang else ()
        return [self._tasks[member] for member in members if member in self._tasks]

    @property
    def torn(self) -> Mapping[JobId, tuple[TaskName, ...]]:
        """Gangs of which some are bound, too few, and who those are."""
        return self._gang_members.torn

    def has_node(self, name: NodeName) -> bool:
        return name in self._nodes

    def pending(self) -> Iterator[tuple[TaskName, PodState]]:
        """Pods that can be read, and have no node yet."""
        return (
            (name, task.state)
            for name, task in self._tasks.items()
            if task.state in (PodState.WAITING, PodState.GATED)
        )

    def pod_counts(self) -> dict[str, int]:
        return {"pods": len(self._pods), "assumed_pods": len(self._assumed)}

    @property
    def node_count(self) -> int:
        return len(self._nodes)

    def settle(self, now_s: float) -> float | None:
        """Takes in what has changed. After so many seconds something changes by itself; None: never."""
        self._renew()
        changed, self._changed = self._changed, {}
        for name in changed:
            self._read_again(name, now_s)
        for gang_id in self._gang_members.due(now_s):
            self._gather(gang_id, now_s)
        for node in self.pod_context.volumes.newly_equipped(self._nodes.values()):
            self.state.set_node(node)
        return self._gang_members.settles_within_s(now_s)

    def _renew(self) -> None:
        self._changes += len(self._changed)
        if self._changes > _CHANGES_KEPT + 4 * len(self._pods):
            self._changes = 0
            fresh = ClusterState(self._defaults)
            fresh.load(self.state.records())
            self.state = fresh

    # -- reading

    def _read_again(self, name: TaskName, now_s: float) -> None:
        before = self._tasks.get(name)
        task = self._readings.read_again(
            name, self._pods.get(name), self._assumed, self._devices.get(name, ())
        )
        if self._observed is not None:
            self._observed(name, before, task)
        gang_before = gang_id_of(before) if before is not None and before.gang else None
        gang = gang_id_of(task) if task is not None and task.gang else None
        if gang_before is not None and gang_before != gang:
            self._gang_members.leave(gang_before, name)
        if gang is not None:
            self._gang_members.join(gang, name, now_s)
        if gang is None and task is not None and task.state in (PodState.WAITING, PodState.RUNNING):
            self.state.set_job(task.as_job())
        else:
            self._drop(JobId(name))

    def _gather(self, gang_id: JobId, now_s: float) -> None:
        tasks = [self._tasks[name] for name in self._gang_members.members(gang_id) if name in self._tasks]
        if not tasks:
            self._gang_members.forget(gang_id)
            self._drop(gang_id)
            return
        roles = self.pod_groups.roles(tasks, self._pods)
        reading = self._gang_members.read(gang_id, tasks, roles, now_s)
        self._readings.note_gang(tasks, reading)
        if reading.record is None or self._gang_members.is_settling(gang_id):
            self._drop(gang_id)
        else:
            self.state.set_job(reading.record)

    def _drop(self, job_id: JobId) -> None:
        if self.state.has_job(job_id):
            self.state.remove_job(job_id)
