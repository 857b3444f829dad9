"""Everything the engine can say has words, and they are short and plain."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from rota.kube_objects.priority import UsePriorityClass
from rota.lifecycle.kept_back import AwaitsJobs, DependencyUnmet, IsHeld
from rota.model.changes import (
    AskForLess,
    DropInDomains,
    DropJobAffinity,
    DropSpread,
    DropTopology,
    PayMore,
    RaisePriority,
    ShareNodes,
    ShortenTimeLimit,
    StartWithFewer,
)
from rota.model.containers import IMAGE_NEEDED, RUNS_IMAGES
from rota.model.estimate import NoStart
from rota.model.explanation import Change, Outcome, Remedy
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.plan import Eviction, EvictionCause
from rota.model.reasons import (
    ArrayLimitReached,
    AwaitsPartner,
    BehindInStrictQueue,
    BeyondCapacity,
    BeyondLimit,
    BeyondQuota,
    ClaimInUse,
    DiskTaken,
    EvictedByTaint,
    EvictedForMaintenance,
    GangBeyondCapacity,
    GangLacksRoom,
    Insufficient,
    JobAffinityUnmet,
    JobAntiAffinityUnmet,
    LayoutBeyondCapacity,
    LayoutLacksRoom,
    LimitReached,
    MaintenanceAhead,
    MemoryInUse,
    NodeExclusive,
    NodeInUse,
    NoNodes,
    NoScheduler,
    NoSpaceForVolume,
    NotReservedFor,
    NoVolumeToBind,
    OtherDomains,
    OutsideReservation,
    PeriodMissed,
    PortTaken,
    PromisedLater,
    QueueClosed,
    QueuePaused,
    QuotaReached,
    RefusedByPlugin,
    ReservationTime,
    RoomPlanned,
    RoomReserved,
    RunningAntiAffinity,
    SlaMissed,
    SpreadUneven,
    TooEarly,
    TooFewDomains,
    TooManyVolumes,
    TopologyLabelMissing,
    VolumeInOtherZone,
    VolumeOutOfReach,
    WasPreempted,
)
from rota.model.resources import GpuRequest, HostPort, Resources
from rota.model.taints import Effect
from rota.model.task import TaskSpec
from rota.model.verdict import Kind, Reason
from rota.model.vocabulary import members_of
from rota.plugins.backend import NotOfBackend
from rota.plugins.gpu_model import AllowGpuModel, OtherGpuModel
from rota.plugins.memory import MemoryFull
from rota.plugins.node_affinity import DropNodeAffinity, NodeAffinityUnmet
from rota.plugins.node_name import OtherNodeNamed
from rota.plugins.node_ready import NodeCordoned, NodeNotReady
from rota.plugins.node_selector import DropNodeSelector, LabelNode, NodeSelectorUnmet
from rota.plugins.pool import AllowPool, NotInPool
from rota.plugins.price import TooExpensive
from rota.plugins.taints import Tolerate, UntoleratedPassingTaint, UntoleratedTaint
from rota.views import wording
from rota.views.estimates import no_start_text
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
from tests.words import lie, node_term, taint, when

GIB = 1 << 30
NOON_MS = 1_777_636_800_000
REASONS = {
    NodeNotReady(): "node not ready",
    NodeCordoned(): "node cordoned",
    MemoryFull(): "memory is full: other programs use it",
    MemoryInUse(8 * GIB, 3 * GIB): "other programs use the memory: asks 8Gi, most free 3Gi",
    OtherNodeNamed("n7"): "only node n7 will do",
    NotInPool(("gpu", "web")): "not in pool gpu, web",
    NotInPool(): "no pool that job, queue and tenant have in common",
    NotOfBackend(("slurm",)): "not of backend slurm",
    NodeSelectorUnmet("disk", "ssd"): "node selector disk=ssd doesn't match",
    NodeSelectorUnmet(*RUNS_IMAGES): "runs no containers, and the job names an image",
    UntoleratedTaint(
        IMAGE_NEEDED.key, IMAGE_NEEDED.value, IMAGE_NEEDED.effect
    ): "runs only jobs that name an image",
    NodeAffinityUnmet(
        (node_term("zone In a,b", "gen Gt 3"),)
    ): "node affinity zone In a,b and gen Gt 3 doesn't match",
    NodeAffinityUnmet(
        (node_term("zone In a"), node_term("rack In r1"))
    ): "node affinity zone=a or rack=r1 doesn't match",
    UntoleratedTaint("dedicated", "ml", Effect.NO_SCHEDULE): "untolerated taint dedicated=ml:NoSchedule",
    UntoleratedTaint("dedicated", "ml"): "untolerated taint dedicated: ml",
    UntoleratedTaint("x", "", Effect.NO_EXECUTE, 38): "untolerated taint x:NoExecute and 38 others",
    UntoleratedPassingTaint("node.kubernetes.io/not-ready", "", Effect.NO_SCHEDULE): (
        "untolerated taint node.kubernetes.io/not-ready:NoSchedule"
    ),
    OtherGpuModel(("A100", "H100")): "no GPU of model A100 or H100",
    TooExpensive(500_000, 1_200_000): "too dear: allows 0.50/h, cheapest 1.20/h",
    BeyondCapacity("cpu", 64_000, 32_000): ("beyond every such node: asks 64 cpu, largest has 32"),
    BeyondCapacity("gpu", 2000): "asks 2 gpu, has none",
    BeyondCapacity("gpu", 300, of_one_device=True): "asks 0.3 of a gpu, has none",
    Insufficient("cpu", 8000, 6500): "insufficient cpu: asks 8, most free 6.5",
    Insufficient("memory", 64 * GIB, 64 * GIB - 1): ("insufficient memory: asks 64Gi, most free 63.9Gi"),
    Insufficient("memory", 1_234_567_890, 0): "insufficient memory: asks 1.2Gi, most free 0",
    Insufficient("gpu", 2000, 1000): "insufficient gpu: asks 2, most free 1",
    Insufficient("gpu", 500, 200, of_one_device=True): (
        "insufficient gpu: asks 0.5 of a device, most free 0.2"
    ),
    Insufficient("example.com/fpga", 3, 1): "insufficient example.com/fpga: asks 3, most free 1",
    NodeInUse(): "node in use: asks to have it to itself",
    NodeExclusive(): "a job has the node to itself",
    DiskTaken("gce/d"): "disk gce/d in use there",
    ClaimInUse("c"): "another task uses claim c, which is for one at a time",
    TooManyVolumes(): "too many volumes",
    TooManyVolumes("disk.example.com"): "too many volumes of disk.example.com",
    VolumeOutOfReach(): "one of its volumes can't be used there",
    VolumeInOtherZone(): "one of its volumes is in another zone",
    NoVolumeToBind(): "no volume there for one of its claims",
    NoSpaceForVolume(): "too little space there for one of its volumes",
    PortTaken(HostPort(8080)): "host port TCP/8080 taken",
    PortTaken(HostPort(53, "UDP", "10.0.0.1")): "host port UDP/53@10.0.0.1 taken",
    JobAffinityUnmet("zone", (when("app In db"),)): "no job with app=db in the same zone",
    JobAntiAffinityUnmet("host", (when("app In web"),)): "anti-affinity: a job with app=web in the same host",
    JobAntiAffinityUnmet("host"): "anti-affinity: a job with any job in the same host",
    RunningAntiAffinity(): "anti-affinity of a job there",
    TopologyLabelMissing("rack"): "node has no label rack",
    OtherDomains("region", 3, 1, (when("app In web"),)): (
        "jobs with app=web are in 1 of 3 region: it has to be in another one"
    ),
    OtherDomains("region", 3, 3, (when("app In web"),)): (
        "jobs with app=web are in 3 region already: it has to be in one of them"
    ),
    TooFewDomains("region", 3, 2): "jobs have to be in 3 region together, and there are 2",
    SpreadUneven("zone", 1): "spread over zone would be uneven by more than 1",
    RefusedByPlugin("licences", "no licence\nfor \x1b[31mmatlab"): "no licence for [31mmatlab",
    RefusedByPlugin("licences"): "refused, without a word why",
    GangLacksRoom(8, 5): "room for 5 of the 8 tasks that start together",
    GangBeyondCapacity(64, 48): ("gang beyond capacity: 64 tasks start together, 48 fit when all is idle"),
    LayoutLacksRoom((lie("zone", "same"),), 4): "no room for 4 tasks in one zone",
    LayoutBeyondCapacity((lie("zone", "different"),), 4, 3): (
        "beyond capacity: 4 tasks each in another zone, 3 fit when all is idle"
    ),
    LayoutLacksRoom((lie("zone", "count", 2), lie("host", "different")), 4): (
        "no room for 4 tasks in 2 of zone and each in another host"
    ),
    QuotaReached(("vision", "ada"), "cpu", 8000, 6000): "quota of vision/ada: asks 8 cpu, 6 left",
    BeyondQuota(("vision",), "gpu", 64_000, 8000): "beyond the quota of vision: asks 64 gpu",
    LimitReached("user", "ada", "cpu", 8000, 6000): "limit of user ada: 6 cpu at once, asks 8",
    ArrayLimitReached("24", 4): "at most 4 of array 24 at once",
    LimitReached("queue", "long", "", 1, 1): "limit of queue long: 1 job at once",
    BeyondLimit("project", "vision", "gpu", 64_000, 8000): (
        "limit of project vision: 8 gpu at once, asks 64"
    ),
    AwaitsPartner(JobId("database")): "waits for its partner database",
    BehindInStrictQueue(JobId("first")): "behind first, which can't start (strict queue)",
    IsHeld(): "is held",
    AwaitsJobs((JobId("a"), JobId("s.0"), JobId("s.1"), JobId("s.2"))): "waits for a, s.[0-2] to end",
    DependencyUnmet("job 3 didn't succeed"): "it would be cancelled at once: job 3 didn't succeed",
    QueuePaused("batch"): "queue batch is paused",
    QueuePaused("batch", "disks\nare \x1b[31mfull"): ("queue batch is paused: disks are [31mfull"),
    QueueClosed("old", "use new"): "queue old is closed: use new",
    RoomPlanned(JobId("train"), NOON_MS): "room kept for train, planned for 2026-05-01T12:00:00Z",
    RoomPlanned(JobId("train")): "room kept for train",
    RoomPlanned(start_ms=NOON_MS): "room kept for what is planned from 2026-05-01T12:00:00Z on",
    RoomPlanned(): "room kept for what is planned",
    TooEarly(NOON_MS): "not to start before 2026-05-01T12:00:00Z",
    PromisedLater(NOON_MS): "promised to start at 2026-05-01T12:00:00Z",
    PeriodMissed(NOON_MS): "can't start by 2026-05-01T12:00:00Z, its latest start",
    SlaMissed(5_400_000): "not started within 1h30m of its submission",
    OutsideReservation("exam", ReservationTime.NOT_BEGUN, NOON_MS): (
        "reservation exam begins at 2026-05-01T12:00:00Z"
    ),
    OutsideReservation(
        "exam", ReservationTime.OVER, NOON_MS
    ): "reservation exam ended at 2026-05-01T12:00:00Z",
    OutsideReservation("exam", ReservationTime.TOO_SHORT, NOON_MS): (
        "reservation exam ends at 2026-05-01T12:00:00Z, before the job's time limit"
    ),
    RoomReserved("exam", NOON_MS): ("room kept for reservation exam from 2026-05-01T12:00:00Z on"),
    NotReservedFor("exam", "vision", "ada"): "reservation exam is not for vision/ada",
    MaintenanceAhead("power", NOON_MS): "maintenance power from 2026-05-01T12:00:00Z on",
    MaintenanceAhead("power"): "maintenance power",
    WasPreempted(JobId("urgent")): "preempted by urgent, queued again",
    WasPreempted(): "preempted, queued again",
    EvictedByTaint(): "evicted by a NoExecute taint, queued again",
    EvictedForMaintenance(): "evicted for maintenance",
    NoScheduler("night", "team-a"): ("no scheduler named night for the namespace team-a"),
    NoScheduler(namespace="team-a"): "no scheduler serves the namespace team-a",
    NoNodes(): "the cluster has no nodes",
}
CHANGES = {
    AskForLess("cpu", 8000, 6000): "ask for at most 6 cpu (asks 8)",
    AskForLess("cpu", 8000, 0): "ask for no cpu (asks 8)",
    AskForLess("memory", 64 * GIB, 10 * GIB): "ask for at most 10Gi memory (asks 64Gi)",
    AskForLess("gpu", 500, 200, of_one_device=True): "ask for at most 0.2 of a gpu (asks 0.5)",
    StartWithFewer(8, 5): "start with 5 tasks (needs 8)",
    StartWithFewer(2, 1): "start with 1 task (needs 2)",
    Tolerate((taint("dedicated=ml:NoSchedule"),)): "tolerate dedicated=ml:NoSchedule",
    Tolerate((taint("x:NoSchedule"), taint("y:NoExecute"))): "tolerate x:NoSchedule, y:NoExecute",
    DropNodeSelector("disk", "ssd"): "drop the node selector disk=ssd",
    LabelNode(NodeName("n3"), "disk", "ssd"): "give node n3 the label disk=ssd",
    DropNodeAffinity(): "drop the node affinity",
    AllowPool("gpu"): "allow the pool gpu",
    AllowGpuModel("L4"): "allow the GPU model L4",
    DropJobAffinity("zone", (when("app In db"),)): "drop the affinity over zone with app=db",
    DropSpread("zone"): "drop the spread over zone",
    DropInDomains("region", 3): "drop the rule to be in 3 of region",
    ShareNodes(): "share nodes: drop exclusive",
    PayMore(500_000, 1_200_000): "pay up to 1.20/h a task (allows 0.50/h)",
    DropTopology("rack"): "drop the topology rule over rack",
    ShortenTimeLimit(18_000_000, 7_200_000): "set a time limit of at most 2h (has 5h)",
    ShortenTimeLimit(0, 5_400_000): "set a time limit of at most 1h30m (has none)",
    UsePriorityClass("urgent"): "give it the priority class urgent",
    RaisePriority(-1000, 1000): "raise the priority to high (is low)",
}


@pytest.mark.covers("why-1")
@pytest.mark.parametrize(("reason", "text"), REASONS.items(), ids=lambda one: getattr(one, "code", ""))
def test_reasons(reason: Reason, text: str) -> None:
    assert reason_text(reason) == text


@pytest.mark.covers("why-2")
@pytest.mark.parametrize(("change", "text"), CHANGES.items(), ids=lambda one: getattr(one, "code", ""))
def test_remedies(change: Change, text: str) -> None:
    assert remedy_text(Remedy(change)) == text


def test_nothing_is_without_words() -> None:
    said = {kind for kind in members_of(Reason).values() if not kind.__module__.startswith("rota.kube.")}
    assert set(wording.REASONS) == said
    assert set(wording.CHANGES) == set(members_of(Change).values())
    assert all(map(passing_text, REASONS))
    assert all(kind_text(kind) for kind in Kind)
    assert all(cause_text(eviction(cause)) for cause in EvictionCause)
    assert all(outcome_text(outcome) for outcome in Outcome)
    assert all(map(no_start_text, NoStart))


def eviction(cause: EvictionCause, *, ends_job: bool = False) -> Eviction:
    return Eviction(JobId("job"), 0, NodeName("n"), cause, ends_job=ends_job)


@pytest.mark.covers("time-5")
def test_what_maintenance_does() -> None:
    assert cause_text(eviction(EvictionCause.MAINTENANCE)) == "maintenance"
    assert cause_text(eviction(EvictionCause.MAINTENANCE, ends_job=True)) == "maintenance, ends the job"


def test_times_are_written_as_the_reader_wants_them() -> None:
    clock = Clock(NOON_MS - 3_600_000, ZoneInfo("Europe/Berlin"))
    assert reason_text(TooEarly(NOON_MS), clock.text) == "not to start before 14:00"
    later_ms = NOON_MS + 300 * 86_400_000
    assert reason_text(MaintenanceAhead("power", later_ms), clock.text) == (
        "maintenance power from 2027-02-25 13:00 +01:00 on"
    )


def test_whether_a_reason_can_pass() -> None:
    assert passing_text(QueuePaused("batch")) == "until the queue is opened"
    assert passing_text(TooEarly(NOON_MS)) == "until time passes"
    assert passing_text(PeriodMissed(NOON_MS)) == "never, unless it may start later"
    assert passing_text(Insufficient("cpu", 1)) == "until a task ends or a node changes or joins"
    assert passing_text(NodeSelectorUnmet("disk", "ssd")) == "never, unless a node changes or joins"
    assert passing_text(WasPreempted()) == "until the next cycle comes"


def test_a_plugins_long_words_are_cut() -> None:
    text = reason_text(RefusedByPlugin("chatty", "no " * 500))
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
    labelled = TaskSpec(spec.requests, labels=(("index", "1"),)), TaskSpec(spec.requests)
    alike = job(*map(TaskGroup, labelled))
    assert request_text(alike) == "2 tasks, each 32 cpu, 256Gi memory"
    assert request_text(job(TaskGroup(share), TaskGroup(TaskSpec(), 3))) == (
        "1 task of 0.5 cpu, 0.3 of a gpu; 3 tasks, each no resources"
    )
