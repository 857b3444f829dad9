"""Why a pod of a live cluster waits, or runs where it does: read once, decided once more, and nothing done.

What holds a pod before it is decided about is told as the scheduler tells it; what nodes would say without
that is found by deciding as if it was gone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from difflib import get_close_matches
from typing import Protocol, TypeVar

from msgspec.structs import replace

from rota.engine.decide import decide
from rota.engine.explaining.explain import explain
from rota.kube.api.client import Client, Selection
from rota.kube.api.config import find_cluster
from rota.kube.api.errors import Forbidden
from rota.kube.api.resources import PRIORITY_CLASSES, Resource
from rota.kube.asking.answer_words import (
    DELETED,
    ENDING,
    PLACED_ANEW,
    another_scheduler_text,
    gates_text,
    over_text,
    supposed_text,
    unreadable_text,
    would_be_bound_text,
)
from rota.kube.asking.answers import GangProgress, NoSuchPod, PodAnswer, Situation
from rota.kube.asking.what_if import released, those_present, with_record
from rota.kube.mirror.dependents import is_over
from rota.kube.mirror.gangs import gang_id_of
from rota.kube.mirror.mirror import Mirror
from rota.kube.mirror.read_once import PodsRead, read_once
from rota.kube.mirror.reasons import AwaitsVictims, GangIncomplete, Unusable
from rota.kube.scheduling.rules import rules_of
from rota.kube.scheduling.run import KubeSchedulerOptions, policy_of
from rota.kube.scheduling.words import held_text, misread_text, unschedulable_text
from rota.kube_objects.objects.metadata import KubeObject, KubeStruct, Timestamp
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.workloads import PriorityClass
from rota.kube_objects.pods import DEFAULT_SCHEDULER, PodState, PodTask
from rota.kube_objects.priority import by_class, class_names
from rota.kube_objects.times import as_ms
from rota.loop.hosting.plugin_host import PluginHost
from rota.model.changes import StartWithFewer
from rota.model.explanation import Outcome, Remedy
from rota.model.ids import JobId, TaskName
from rota.model.job import JobRecord
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.snapshot.state import ClusterState, Snapshot
from rota.views.plan.view import PlanView
from rota.views.why.view import Subject, WhyView, why_view

T = TypeVar("T", bound=KubeObject)


class _TimedCondition(KubeStruct):
    type: str
    last_transition_time: Timestamp | None = None


class _TimedStatus(KubeStruct):
    conditions: list[_TimedCondition] | None = None


class TimedPod(KubeObject):
    """Of a pod, no more than since when its conditions are so: the scheduler has no use for that."""

    status: _TimedStatus | None = None


class Api(Protocol):
    """Of a client, what asking takes, once the cluster is read."""

    namespace: str

    async def list_all(self, resource: Resource[T], selection: Selection = ...) -> list[T]: ...


TIMED_PODS = Resource("", "v1", "pods", TimedPod)


@asynccontextmanager
async def asking(options: KubeSchedulerOptions, now_ms: int) -> AsyncIterator[LiveCluster]:
    """InputError, KubeError: it can't be asked."""
    policy = policy_of(options)
    async with Client(find_cluster(options.kubeconfig)) as client:
        mirror = Mirror(options.scheduler_name, options.gang_keys, lambda: None, policy)
        read = await read_once(client, mirror)
        classes = await priority_classes(client)
        yield LiveCluster(client, read, mirror, options, policy, now_ms, classes)


async def priority_classes(client: Api) -> list[PriorityClass]:
    """None where they may not be listed: then it can't be said which would help."""
    try:
        return await client.list_all(PRIORITY_CLASSES)
    except Forbidden:
        return []


class LiveCluster:
    """As it was when it was read."""

    def __init__(
        self,
        client: Api,
        read: PodsRead,
        mirror: Mirror,
        options: KubeSchedulerOptions,
        policy: Policy,
        now_ms: int,
        classes: Iterable[PriorityClass] = (),
    ) -> None:
        self._class_names = class_names(classes)
        self.mirror = mirror
        self.policy = policy
        self.host = PluginHost()
        self.now_ms = now_ms
        self._client = client
        self._read = read
        self._options = options

    def named(self, name: str, namespace: str | None) -> TaskName:
        """NoSuchPod says which one may be meant."""
        namespace = namespace or self._client.namespace
        full = TaskName(f"{namespace}/{name}")
        known = [*self._read.pods, *self._read.unreadable]
        if full in known:
            return full
        here = [one.partition("/")[2] for one in known if one.startswith(f"{namespace}/")]
        meant = get_close_matches(name, here, n=1)
        help_text = f'did you mean "{meant[0]}"?' if meant else "name another one by --namespace"
        raise NoSuchPod(f'there is no pod "{name}" in the namespace {namespace}; {help_text}')

    async def why(self, name: TaskName) -> PodAnswer:
        answer = self.at_a_glance(name)
        match answer.situation:
            case Situation.WAITING:
                return self._of_waiting(answer)
            case Situation.HELD:
                return self._of_held(answer)
            case Situation.BOUND:
                return await self._of_bound(answer)
        return answer

    def at_a_glance(self, name: TaskName) -> PodAnswer:
        """What is known without deciding anything."""
        problem = self._read.unreadable.get(name)
        if problem is not None:
            return PodAnswer(name, Situation.UNREADABLE, unreadable_text(problem))
        pod = self._read.pods[name]
        answer = PodAnswer(
            name,
            Situation.WAITING,
            scheduler=pod.spec.scheduler_name or DEFAULT_SCHEDULER,
            node=pod.spec.node_name or "",
            gang=self._progress(name),
            note=misread_text(misread) if (misread := self.mirror.misreads.get(name)) else "",
        )
        is_ours = answer.scheduler == self._options.scheduler_name
        if is_over(pod):
            has_failed = pod.status is not None and pod.status.phase == "Failed"
            return replace(answer, situation=Situation.OVER, told=over_text(has_failed))
        if answer.node:
            told = "" if is_ours else another_scheduler_text(answer.scheduler, is_bound=True)
            if pod.metadata.deletion_timestamp is not None:
                told = ENDING
            return replace(answer, situation=Situation.BOUND, told=told)
        if not is_ours:
            told = another_scheduler_text(answer.scheduler, is_bound=False)
            return replace(answer, situation=Situation.ELSEWHERE, told=told)
        told = self._hold(name, pod)
        return replace(answer, situation=Situation.HELD if told else Situation.WAITING, told=told)

    def record_of(self, name: TaskName) -> tuple[JobRecord, int | None]:
        """The job that a pod that is decided about is, or is one of the tasks of."""
        task = self.mirror.task(name)
        assert task is not None, "it is read: nothing holds it"
        if not task.gang:
            return self.mirror.state.record(JobId(name)), None
        record = self.mirror.state.record(gang_id_of(task))
        return record, record.job.task_names.index(name)

    # -- by situation

    def _hold(self, name: TaskName, pod: Pod) -> str:
        """What keeps it from being decided about; empty: nothing."""
        if pod.metadata.deletion_timestamp is not None:
            return DELETED
        if gates := pod.spec.scheduling_gates:
            return gates_text([gate.name for gate in gates])
        hold = self.mirror.holds.get(name)
        return "" if hold is None else held_text(hold, self.mirror.node_count)

    def _of_waiting(self, answer: PodAnswer) -> PodAnswer:
        record, rank = self.record_of(answer.pod)
        view = self._view(answer.pod, record.job.id, rank)
        if view.outcome is Outcome.PLACED:
            told = would_be_bound_text(view.nodes[0], answer.scheduler)
            return replace(answer, view=view, told=told)
        task, verdict = self.mirror.task(answer.pod), view.explanation.verdict
        if task is None or verdict is None:
            return replace(answer, view=view)
        told = unschedulable_text(verdict, task, self.mirror.node_count)
        return replace(answer, view=view, told=told)

    def _of_held(self, answer: PodAnswer) -> PodAnswer:
        hold, task = self.mirror.holds.get(answer.pod), self.mirror.task(answer.pod)
        if task is None or task.state is PodState.GONE or isinstance(hold, AwaitsVictims | Unusable):
            return answer
        if isinstance(hold, GangIncomplete) and not hold.role:
            answer = replace(answer, remedies=self._with_those_present(task))
        missing = hold.needed - hold.ready if isinstance(hold, GangIncomplete) else 0
        members = self.mirror.gang_members(task.name)
        record = released(task, members, missing, self._options.gang_keys)
        rank = record.job.task_names.index(task.name) if record.job.tasks_are_jobs else None
        view = self._view(
            answer.pod, record.job.id, rank, with_record(self.mirror.state, record, self.policy.defaults)
        )
        return replace(answer, view=view, supposed=supposed_text(hold))

    async def _of_bound(self, answer: PodAnswer) -> PodAnswer:
        answer = replace(answer, since_ms=await self._bound_ms(answer.pod))
        task = self.mirror.task(answer.pod)
        if answer.told or task is None or task.state is not PodState.RUNNING:
            return answer
        record, rank = self.record_of(answer.pod)
        others = tuple(one for one in record.placements if one.rank != (rank or 0))
        unplaced = replace(record, placements=others)
        anew = with_record(self.mirror.state, unplaced, self.policy.defaults, is_alone=True)
        view = self._view(answer.pod, record.job.id, rank, anew)
        return replace(answer, view=view, supposed=PLACED_ANEW)

    # -- deciding

    def _view(
        self, name: TaskName, job_id: JobId, rank: int | None, supposed: ClusterState | None = None
    ) -> WhyView:
        """Of the cluster as it is, or as it is supposed to be."""
        snapshot = (supposed or self.mirror.state).snapshot()
        with rules_of(self.policy, self.host, self.mirror.budgets.now()) as plugins:
            explanation = explain(
                snapshot, self.policy, self.now_ms, plugins, job_id, priorities=self._class_names
            )
        remedies = tuple(
            replace(one, change=by_class(one.change, self._class_names)) for one in explanation.remedies
        )
        explanation = replace(explanation, remedies=remedies)
        return why_view(Subject(name, job_id, rank), explanation, PlanView(self.plan(snapshot), snapshot))

    def plan(self, snapshot: Snapshot) -> Plan:
        with rules_of(self.policy, self.host, self.mirror.budgets.now()) as plugins:
            return decide(snapshot, self.policy, self.now_ms, plugins)

    def _with_those_present(self, task: PodTask) -> tuple[Remedy, ...]:
        """If fewer were needed, as many as are there: whether they would start now."""
        progress = self._progress(task.name)
        record = those_present(self.mirror.gang_members(task.name), self._options.gang_keys)
        if progress is None or record is None:
            return ()
        rank = record.job.task_names.index(task.name)
        view = self._view(
            task.name, record.job.id, rank, with_record(self.mirror.state, record, self.policy.defaults)
        )
        if view.outcome is not Outcome.PLACED:
            return ()
        evicts = tuple(one.job for one in view.evictions)
        nodes = view.explanation.nodes
        return (Remedy(StartWithFewer(progress.needed, progress.present), starts_on=nodes, evicts=evicts),)

    # -- asked further

    def _progress(self, name: TaskName) -> GangProgress | None:
        task, reading = self.mirror.task(name), self.mirror.gang_of(name)
        if task is None or reading is None:
            return None
        return GangProgress(task.gang, reading.ready, reading.needed)

    async def _bound_ms(self, name: TaskName) -> int | None:
        namespace, _, short_name = name.partition("/")
        chosen = Selection(namespace, fields=f"metadata.name={short_name}")
        for pod in await self._client.list_all(TIMED_PODS, chosen):
            for condition in (pod.status and pod.status.conditions) or ():
                if condition.type == "PodScheduled":
                    return as_ms(condition.last_transition_time) or None
        return None
