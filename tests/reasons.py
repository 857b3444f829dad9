"""A reason of every kind that the engine and its plugins give."""

from __future__ import annotations

from rota.model.ids import JobId
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
    NobodyToEvict,
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
from rota.model.resources import HostPort
from rota.model.taints import Effect
from rota.model.task import VolumeTrouble
from rota.model.verdict import Reason
from rota.plugins.backend import NotOfBackend
from rota.plugins.gpu_model import OtherGpuModel
from rota.plugins.memory import MemoryFull
from rota.plugins.node_affinity import NodeAffinityUnmet
from rota.plugins.node_name import OtherNodeNamed
from rota.plugins.node_ready import NodeCordoned, NodeNotReady
from rota.plugins.node_selector import NodeSelectorUnmet
from rota.plugins.pool import NotInPool
from rota.plugins.price import TooExpensive
from rota.plugins.taints import UntoleratedPassingTaint, UntoleratedTaint
from tests.words import NOW_MS, lie, node_term, when

OTHER = JobId("other")

EXAMPLES: tuple[Reason, ...] = (
    NodeNotReady(),
    NodeCordoned(),
    MemoryFull(),
    MemoryInUse(8 << 30, 3 << 30),
    OtherNodeNamed("n"),
    NotInPool(("gpu", "web")),
    NotOfBackend(("slurm",)),
    NodeSelectorUnmet("disk", "ssd"),
    NodeAffinityUnmet((node_term("zone In a,b", "gen Gt 3"), node_term("rack Exists"))),
    UntoleratedTaint("dedicated", "ml", Effect.NO_SCHEDULE, 3),
    UntoleratedPassingTaint("node.kubernetes.io/disk-pressure", "", Effect.NO_SCHEDULE),
    OtherGpuModel(("A100", "H100")),
    TooExpensive(500_000, 1_200_000),
    BeyondCapacity("cpu", 64_000, 32_000, also=("memory",)),
    Insufficient("gpu", 500, 200, of_one_device=True),
    NodeInUse(),
    NodeExclusive(),
    PortTaken(HostPort(53, "UDP", "10.0.0.1")),
    DiskTaken("gce/d"),
    ClaimInUse("c"),
    TooManyVolumes("disk.example.com"),
    VolumeOutOfReach((VolumeTrouble.UNBOUND,)),
    VolumeInOtherZone(),
    NoVolumeToBind(),
    NoSpaceForVolume(),
    JobAffinityUnmet("zone", (when("app In db"),)),
    JobAntiAffinityUnmet("host", (when("app In web"), when("tier Exists"))),
    RunningAntiAffinity(),
    TopologyLabelMissing("rack"),
    SpreadUneven("zone", 1),
    OtherDomains("region", 3, 1, (when("app In web"),)),
    TooFewDomains("region", 3, 2),
    RefusedByPlugin("licences", "no licence"),
    GangLacksRoom(8, 5),
    GangBeyondCapacity(64, 48),
    LayoutLacksRoom((lie("zone", "same"), lie("host", "different")), 4),
    LayoutBeyondCapacity((lie("zone", "different"),), 4, 3),
    QuotaReached(("vision", "ada"), "cpu", 8000, 6000),
    BeyondQuota(("vision",), "gpu", 64_000, 8000),
    LimitReached("user", "ada", "cpu", 8000, 6000),
    ArrayLimitReached("24", 4),
    BeyondLimit("project", "vision", "", 1, 0),
    AwaitsPartner(OTHER),
    BehindInStrictQueue(OTHER),
    QueuePaused("batch", "disks are full"),
    QueueClosed("old"),
    RoomPlanned(OTHER, NOW_MS),
    TooEarly(NOW_MS),
    PromisedLater(NOW_MS),
    PeriodMissed(NOW_MS),
    SlaMissed(5_400_000),
    OutsideReservation("exam", ReservationTime.TOO_SHORT, NOW_MS),
    RoomReserved("exam", NOW_MS),
    NotReservedFor("exam", "vision", "ada"),
    MaintenanceAhead("power", NOW_MS),
    WasPreempted(OTHER),
    NobodyToEvict(),
    EvictedByTaint(),
    EvictedForMaintenance(),
    NoScheduler("night", "team-a"),
    NoNodes(),
)
