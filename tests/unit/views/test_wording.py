"""Everything the engine can say has words, and they are short and plain."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from rota.model.explanation import Change, Outcome, Remedy
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.plan import Eviction, EvictionCause
from rota.model.resources import GpuRequest, Resources
from rota.model.task import TaskSpec
from rota.model.verdict import Code, Kind, Reason
from rota.views.times import Clock
from rota.views.wording import (
    cause_text,
    kind_text,
    outcome_text,
    passing_text,
    priority_text,
    reason_text,
    remedy_text,
    request_text,
)

GIB = 1 << 30
NOON_MS = 1_777_636_800_000
REASONS = {
    Reason(Code.NODE_NOT_READY): "node not ready",
    Reason(Code.NODE_CORDONED): "node cordoned",
    Reason(Code.OTHER_NODE_NAMED, "n7"): "only node n7 will do",
    Reason(Code.POOL, "gpu, web"): "not in pool gpu, web",
    Reason(Code.POOL): "no pool that job, queue and tenant have in common",
    Reason(Code.BACKEND, "slurm"): "not of backend slurm",
    Reason(Code.NODE_SELECTOR, "disk=ssd"): "node selector disk=ssd doesn't match",
    Reason(
        Code.NODE_AFFINITY, "zone In a,b and gen Gt 3"
    ): "node affinity zone In a,b and gen Gt 3 doesn't match",
    Reason(Code.NODE_AFFINITY, "zone In a or rack In r1"): "node affinity zone=a or rack=r1 doesn't match",
    Reason(Code.TAINT, "dedicated=ml:NoSchedule"): "untolerated taint dedicated=ml:NoSchedule",
    Reason(Code.PASSING_TAINT, "node.kubernetes.io/not-ready:NoSchedule"): (
        "untolerated taint node.kubernetes.io/not-ready:NoSchedule"
    ),
    Reason(Code.GPU_MODEL, "A100 or H100"): "no GPU of model A100 or H100",
    Reason(Code.PRICE, asked=500_000, available=1_200_000): "too dear: allows 0.50/h, cheapest 1.20/h",
    Reason(Code.BEYOND_CAPACITY, "cpu", 64_000, 32_000): (
        "beyond every such node: asks 64 cpu, largest has 32"
    ),
    Reason(Code.BEYOND_CAPACITY, "gpu", 2000): "asks 2 gpu, has none",
    Reason(Code.BEYOND_CAPACITY, "gpu share", 300): "asks 0.3 of a gpu, has none",
    Reason(Code.INSUFFICIENT, "cpu", 8000, 6500): "insufficient cpu: asks 8, most free 6.5",
    Reason(Code.INSUFFICIENT, "memory", 64 * GIB, 64 * GIB - 1): (
        "insufficient memory: asks 64Gi, most free 63.9Gi"
    ),
    Reason(Code.INSUFFICIENT, "memory", 1_234_567_890, 0): "insufficient memory: asks 1.2Gi, most free 0",
    Reason(Code.INSUFFICIENT, "gpu", 2000, 1000): "insufficient gpu: asks 2, most free 1",
    Reason(Code.INSUFFICIENT, "gpu share", 500, 200): (
        "insufficient gpu: asks 0.5 of a device, most free 0.2"
    ),
    Reason(Code.INSUFFICIENT, "example.com/fpga", 3, 1): "insufficient example.com/fpga: asks 3, most free 1",
    Reason(Code.NODE_IN_USE): "node in use: asks to have it to itself",
    Reason(Code.NODE_EXCLUSIVE): "a job has the node to itself",
    Reason(Code.DISK_TAKEN, "gce/d"): "disk gce/d in use there",
    Reason(Code.CLAIM_IN_USE, "claim c"): "another task uses claim c, which is for one at a time",
    Reason(Code.VOLUME_LIMIT, "disk.example.com"): "too many volumes of disk.example.com",
    Reason(Code.VOLUME_AFFINITY): "one of its volumes can't be used there",
    Reason(Code.VOLUME_ZONE): "one of its volumes is in another zone",
    Reason(Code.VOLUME_UNBOUND, "local"): "no volume there for one of its claims",
    Reason(Code.VOLUME_SPACE): "too little space there for one of its volumes",
    Reason(Code.PORT_TAKEN, "TCP/8080"): "host port TCP/8080 taken",
    Reason(Code.JOB_AFFINITY, "zone: app In db"): "no job with app=db in the same zone",
    Reason(Code.JOB_ANTI_AFFINITY, "host: app In web"): "anti-affinity: a job with app=web in the same host",
    Reason(Code.RUNNING_ANTI_AFFINITY): "anti-affinity of a job there",
    Reason(Code.TOPOLOGY_LABEL_MISSING, "rack"): "node has no label rack",
    Reason(Code.SPREAD, "zone", 1): "spread over zone would be uneven by more than 1",
    Reason(Code.PLUGIN, "licences", detail="no licence\nfor \x1b[31mmatlab"): "no licence for [31mmatlab",
    Reason(Code.PLUGIN, "licences"): "refused, without a word why",
    Reason(Code.GANG, asked=8, available=5): "room for 5 of the 8 tasks that start together",
    Reason(Code.GANG_BEYOND_CAPACITY, asked=64, available=48): (
        "gang beyond capacity: 64 tasks start together, 48 fit when all is idle"
    ),
    Reason(Code.TOPOLOGY, "zone", 4, detail="zone: same"): "no room for 4 tasks in one zone",
    Reason(Code.TOPOLOGY_BEYOND_CAPACITY, "zone", 4, 3, "zone: different"): (
        "beyond capacity: 4 tasks each in another zone, 3 fit when all is idle"
    ),
    Reason(Code.TOPOLOGY, "zone", 4, detail="zone: 2, host: different"): (
        "no room for 4 tasks in 2 of zone and each in another host"
    ),
    Reason(Code.QUOTA, "vision/ada cpu", 8000, 6000): "quota of vision/ada: asks 8 cpu, 6 left",
    Reason(Code.QUOTA_BEYOND, "vision gpu", 64_000, 8000): "beyond the quota of vision: asks 64 gpu",
    Reason(Code.LIMIT, "user ada cpu", 8000, 6000): "limit of user ada: 6 cpu at once, asks 8",
    Reason(Code.LIMIT, "queue long jobs", 1, 1): "limit of queue long: 1 job at once",
    Reason(Code.LIMIT_BEYOND, "project vision gpu", 64_000, 8000): (
        "limit of project vision: 8 gpu at once, asks 64"
    ),
    Reason(Code.PARTNER, "database"): "waits for its partner database",
    Reason(Code.STRICT_QUEUE, "first"): "behind first, which can't start (strict queue)",
    Reason(Code.QUEUE_PAUSED, "batch"): "queue batch is paused",
    Reason(Code.QUEUE_PAUSED, "batch", detail="disks\nare \x1b[31mfull"): (
        "queue batch is paused: disks are [31mfull"
    ),
    Reason(Code.QUEUE_CLOSED, "old", detail="use new"): "queue old is closed: use new",
    Reason(Code.CALENDAR, "train", NOON_MS): "room kept for train, planned for 2026-05-01T12:00:00Z",
    Reason(Code.CALENDAR, "train"): "room kept for train",
    Reason(Code.CALENDAR, asked=NOON_MS): "room kept for what is planned from 2026-05-01T12:00:00Z on",
    Reason(Code.CALENDAR): "room kept for what is planned",
    Reason(Code.TOO_EARLY, asked=NOON_MS): "not to start before 2026-05-01T12:00:00Z",
    Reason(Code.PROMISED, asked=NOON_MS): "promised to start at 2026-05-01T12:00:00Z",
    Reason(Code.PERIOD_MISSED, asked=NOON_MS): "can't start by 2026-05-01T12:00:00Z, its latest start",
    Reason(Code.SLA_MISSED, asked=5_400_000): "not started within 1h30m of its submission",
    Reason(Code.RESERVATION, "exam", NOON_MS, detail="not begun"): (
        "reservation exam begins at 2026-05-01T12:00:00Z"
    ),
    Reason(
        Code.RESERVATION, "exam", NOON_MS, detail="over"
    ): "reservation exam ended at 2026-05-01T12:00:00Z",
    Reason(Code.RESERVATION, "exam", NOON_MS, detail="ends before the job"): (
        "reservation exam ends at 2026-05-01T12:00:00Z, before the job's time limit"
    ),
    Reason(Code.RESERVATION, "exam", NOON_MS): (
        "room kept for reservation exam from 2026-05-01T12:00:00Z on"
    ),
    Reason(Code.NOT_RESERVED_FOR, "exam", detail="vision/ada"): "reservation exam is not for vision/ada",
    Reason(Code.MAINTENANCE, "power", NOON_MS): "maintenance power from 2026-05-01T12:00:00Z on",
    Reason(Code.MAINTENANCE, "power"): "maintenance power",
    Reason(Code.PREEMPTED, "urgent"): "preempted by urgent, queued again",
    Reason(Code.PREEMPTED): "preempted, queued again",
    Reason(Code.EVICTED_BY_TAINT): "evicted by a NoExecute taint, queued again",
    Reason(Code.EVICTED_FOR_MAINTENANCE): "evicted for maintenance",
    Reason(Code.NO_SCHEDULER, "night", detail="team-a"): (
        "no scheduler named night for the namespace team-a"
    ),
    Reason(Code.NO_SCHEDULER, detail="team-a"): "no scheduler serves the namespace team-a",
    Reason(Code.NO_NODES): "the cluster has no nodes",
}
REMEDIES = {
    Remedy(Change.RESOURCE, "cpu", 8000, 6000): "ask for at most 6 cpu (asks 8)",
    Remedy(Change.RESOURCE, "memory", 64 * GIB, 10 * GIB): "ask for at most 10Gi memory (asks 64Gi)",
    Remedy(Change.RESOURCE, "gpu share", 500, 200): "ask for at most 0.2 of a gpu (asks 0.5)",
    Remedy(Change.GANG_SIZE, "", 8, 5): "start with 5 tasks (needs 8)",
    Remedy(Change.GANG_SIZE, "", 2, 1): "start with 1 task (needs 2)",
    Remedy(Change.TOLERATION, "dedicated=ml:NoSchedule"): "tolerate dedicated=ml:NoSchedule",
    Remedy(Change.NODE_SELECTOR, "disk=ssd"): "drop the node selector disk=ssd",
    Remedy(Change.NODE_LABEL, "disk=ssd", node=NodeName("n3")): "give node n3 the label disk=ssd",
    Remedy(Change.NODE_AFFINITY): "drop the node affinity",
    Remedy(Change.POOL, "gpu"): "allow the pool gpu",
    Remedy(Change.GPU_MODEL, "L4"): "allow the GPU model L4",
    Remedy(Change.JOB_AFFINITY, "zone: app In db"): "drop the affinity over zone with app=db",
    Remedy(Change.JOB_AFFINITY, "spread over zone"): "drop the spread over zone",
    Remedy(Change.EXCLUSIVE): "share nodes: drop exclusive",
    Remedy(Change.PRICE, "", 500_000, 1_200_000): "pay up to 1.20/h a task (allows 0.50/h)",
    Remedy(Change.TOPOLOGY, "rack"): "drop the topology rule over rack",
    Remedy(Change.TIME_LIMIT, "", 18_000_000, 7_200_000): "set a time limit of at most 2h (has 5h)",
    Remedy(Change.TIME_LIMIT, "", 0, 5_400_000): "set a time limit of at most 1h30m (has none)",
    Remedy(Change.PRIORITY, "", -1000, 1000): "raise the priority to high (is low)",
}


@pytest.mark.covers("why-1")
@pytest.mark.parametrize(("reason", "text"), REASONS.items(), ids=lambda one: getattr(one, "code", ""))
def test_reasons(reason: Reason, text: str) -> None:
    assert reason_text(reason) == text


@pytest.mark.covers("why-2")
@pytest.mark.parametrize(("remedy", "text"), REMEDIES.items(), ids=lambda one: getattr(one, "change", ""))
def test_remedies(remedy: Remedy, text: str) -> None:
    assert remedy_text(remedy) == text


def test_nothing_is_without_words() -> None:
    assert {reason.code for reason in REASONS} == set(Code)
    assert {remedy.change for remedy in REMEDIES} == set(Change)
    for code in Code:
        assert reason_text(Reason(code))
        assert passing_text(Reason(code))
    for change in Change:
        assert remedy_text(Remedy(change))
    assert all(kind_text(kind) for kind in Kind)
    assert all(cause_text(eviction(cause)) for cause in EvictionCause)
    assert all(outcome_text(outcome) for outcome in Outcome)


def eviction(cause: EvictionCause, *, ends_job: bool = False) -> Eviction:
    return Eviction(JobId("job"), 0, NodeName("n"), cause, ends_job=ends_job)


@pytest.mark.covers("time-5")
def test_what_maintenance_does() -> None:
    assert cause_text(eviction(EvictionCause.MAINTENANCE)) == "maintenance"
    assert cause_text(eviction(EvictionCause.MAINTENANCE, ends_job=True)) == "maintenance, ends the job"


def test_times_are_written_as_the_reader_wants_them() -> None:
    clock = Clock(NOON_MS - 3_600_000, ZoneInfo("Europe/Berlin"))
    assert reason_text(Reason(Code.TOO_EARLY, asked=NOON_MS), clock.text) == "not to start before 14:00"
    later_ms = NOON_MS + 300 * 86_400_000
    assert reason_text(Reason(Code.MAINTENANCE, "power", later_ms), clock.text) == (
        "maintenance power from 2027-02-25 13:00 +01:00 on"
    )


def test_whether_a_reason_can_pass() -> None:
    assert passing_text(Reason(Code.QUEUE_PAUSED)) == "until the queue is opened"
    assert passing_text(Reason(Code.TOO_EARLY)) == "until time passes"
    assert passing_text(Reason(Code.PERIOD_MISSED)) == "never, unless it may start later"
    assert passing_text(Reason(Code.INSUFFICIENT, "cpu")) == "until a task ends or a node changes or joins"
    assert passing_text(Reason(Code.NODE_SELECTOR)) == "never, unless a node changes or joins"
    assert passing_text(Reason(Code.PREEMPTED)) == "until the next cycle comes"


def test_a_plugins_long_words_are_cut() -> None:
    text = reason_text(Reason(Code.PLUGIN, "chatty", detail="no " * 500))
    assert len(text) == 200
    assert text.endswith("…")


def test_priorities_between_the_classes_are_numbers() -> None:
    assert priority_text(1000) == "high"
    assert priority_text(1001) == "1001"


def job(*groups: TaskGroup) -> Job:
    return Job(JobId("job"), JobTemplate(groups))


def test_what_a_job_asks_for() -> None:
    spec = TaskSpec(Resources(32_000, 256 * GIB), gpu=GpuRequest(4, models=("A100",)))
    assert request_text(job(TaskGroup(spec))) == "32 cpu, 256Gi memory, 4 gpu, model A100"
    assert request_text(job(TaskGroup(spec, 2))) == "2 tasks, each 32 cpu, 256Gi memory, 4 gpu, model A100"
    share = TaskSpec(Resources(500), gpu=GpuRequest(1, 300))
    assert request_text(job(TaskGroup(share), TaskGroup(TaskSpec(), 3))) == (
        "1 task of 0.5 cpu, 0.3 of a gpu; 3 tasks, each no resources"
    )
