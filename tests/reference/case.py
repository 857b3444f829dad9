"""A cluster, a policy and the plan made for them, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from rota.model.cluster import ClusterRecords
from rota.model.job import JobRecord, Priority
from rota.model.plan import Binding, Eviction, EvictionCause, Plan
from rota.model.policy import Policy, Promotion, SchedulerPolicy
from tests.reference.gangs import GangAsk, gang_ask, rest_of, scheduler_of
from tests.reference.world import Task, World, jobs_of, world_of


@dataclass(frozen=True)
class Step:
    """One job's turn: who is evicted for it, where its tasks go, and the world just before."""

    gang: GangAsk
    victims: tuple[Task, ...]
    causes: tuple[EvictionCause, ...]
    placed: tuple[Task, ...]
    world: World


class Case:
    def __init__(self, records: ClusterRecords, policy: Policy, now_ms: int, plan: Plan) -> None:
        self.records = records
        self.policy = policy
        self.now_ms = now_ms
        self.plan = plan
        self.jobs: dict[str, JobRecord] = jobs_of(records, policy)
        self.gangs = {name: gang_ask(record, policy, now_ms) for name, record in self.jobs.items()}
        self.bindings: dict[str, list[Binding]] = {}
        for binding in plan.bindings:
            self.bindings.setdefault(binding.job, []).append(binding)
        self.evictions: dict[str, list[Eviction]] = {}
        for eviction in plan.evictions:
            self.evictions.setdefault(eviction.job, []).append(eviction)

    @property
    def before(self) -> World:
        return world_of(self.records, self.policy.defaults)

    @property
    def after(self) -> World:
        """The world once the plan is carried out."""
        world = self.before
        for task in self.victims_of(lambda _: True):
            world.lift(task)
        for job in self.bindings:
            for task in self.placed(job):
                world.put(task)
        return world

    def steps(self) -> Iterator[Step]:
        """The plan in its own order; a job's victims go just before it comes."""
        world = self.before
        for task in self.victims_of(lambda one: one.cause is EvictionCause.TAINT):
            world.lift(task)
        for job in self.bindings:
            causes = tuple(one.cause for one in self.plan.evictions if one.preemptor == job)
            victims = self.victims_of(partial(_is_for, job))
            placed = self.placed(job)
            yield Step(self.gangs[job], victims, causes, placed, world.copy())
            for task in victims:
                world.lift(task)
            for task in placed:
                world.put(task)

    def placed(self, job: str) -> tuple[Task, ...]:
        record = self.jobs[job]
        return tuple(
            Task(record.job, one.rank, one.node, one.gpu_devices, self.now_ms) for one in self.bindings[job]
        )

    def victims_of(self, belongs: Callable[[Eviction], bool]) -> tuple[Task, ...]:
        running = {(task.job.id, task.rank): task for task in self.before.tasks()}
        return tuple(running[one.job, one.rank] for one in self.plan.evictions if belongs(one))

    def rest(self, job: str) -> GangAsk:
        """What the plan leaves waiting of the job."""
        return rest_of(self.gangs[job], {binding.rank for binding in self.bindings.get(job, ())})

    def is_in_part(self, job: str) -> bool:
        """Whether some of its tasks run, before or after."""
        return job in self.bindings or bool(self.jobs[job].placements)

    def world_of(self, job: str) -> World:
        """The world in which what waits of the job has to wait: as the plan leaves it. The rest of a
        job that starts in part isn't asked again in this cycle: as it was then."""
        if job not in self.bindings:
            return self.after
        step = next(step for step in self.steps() if step.gang.record.job.id == job)
        for task in step.victims:
            step.world.lift(task)
        for task in step.placed:
            step.world.put(task)
        return step.world

    def least(self, job: str) -> int:
        """How many tasks it has to keep running, if any."""
        record = self.jobs[job]
        return max(1, record.job.template.min_count - len(record.done))

    def scheduler(self, job: str) -> SchedulerPolicy | None:
        return scheduler_of(self.jobs[job], self.policy)

    def waiting_priority(self, job: str) -> int:
        record = self.jobs[job]
        return self._priority(record, self.now_ms - record.job.submitted_ms)

    def running_priority(self, task: Task) -> int:
        """What it had risen to when it started."""
        return self._priority(self.jobs[task.job.id], task.started_ms - task.job.submitted_ms)

    def _priority(self, record: JobRecord, waited_ms: int) -> int:
        scheduler = scheduler_of(record, self.policy)
        promotion = scheduler.promotion if scheduler else Promotion()
        own, top = record.job.template.priority, promotion.up_to
        if own >= top:
            return own
        if promotion.retry_budget is not None and record.job.retries >= promotion.retry_budget:
            return top
        risen = own
        if promotion.every_ms:
            for _ in range(min(10, max(0, waited_ms) // promotion.every_ms)):
                risen = min([one for one in (*map(int, Priority), top) if risen < one <= top], default=top)
        return risen

    def may_preempt(self, job: str) -> bool:
        template = self.jobs[job].job.template
        scheduler = self.scheduler(job)
        if scheduler is None or not scheduler.preemption.enabled:
            return False
        if template.may_preempt is not None:
            return template.may_preempt
        return self.waiting_priority(job) >= Priority.MEDIUM

    def _partners(self, job: str) -> set[str]:
        """Whom the job, or one that this plan starts before it, runs along with."""
        before = takewhile(lambda other: other != job, self.bindings)
        return {self.jobs[one].job.template.connect_to for one in (job, *before)}

    def may_evict(self, job: str, task: Task, whatever_priority: bool = False) -> bool:
        """Whether the job may have this running task evicted (its gang's rules apart)."""
        scheduler = self.scheduler(job)
        assert scheduler is not None
        return (
            task.job.template.preemptible
            and task.job.id != job
            and task.job.id not in self.jobs[job].job.preempted_by
            and task.job.id not in self.bindings
            and task.job.id not in self._partners(job)
            and self.now_ms - task.started_ms >= scheduler.preemption.min_run_ms
            and (whatever_priority or self.running_priority(task) < self.waiting_priority(job))
        )


def _is_for(job: str, eviction: Eviction) -> bool:
    return eviction.preemptor == job
