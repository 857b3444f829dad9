"""Records of Rota up to 0.5 are read, and decided again."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import ValidationError, convert, to_builtins
from msgspec.msgpack import Decoder, Encoder

from rota.loop.records.canonical import encoded
from rota.loop.records.format_1 import Written, read_reason
from rota.model.ids import JobId
from rota.model.plan import Plan
from rota.model.reasons import (
    BeyondQuota,
    ClaimInUse,
    Insufficient,
    JobAffinityUnmet,
    JobAntiAffinityUnmet,
    LayoutLacksRoom,
    LimitReached,
    NotReservedFor,
    OutsideReservation,
    PortTaken,
    PromisedLater,
    RefusedByPlugin,
    ReservationTime,
    RoomPlanned,
    RoomReserved,
    VolumeOutOfReach,
)
from rota.model.resources import HostPort
from rota.model.selectors import NodeTerm
from rota.model.taints import Effect
from rota.model.task import VolumeTrouble
from rota.model.verdict import Reason, Refusal
from rota.model.vocabulary import read_coded
from rota.plugins.gpu_model import OtherGpuModel
from rota.plugins.node_affinity import NodeAffinityUnmet
from rota.plugins.pool import NotInPool
from rota.plugins.taints import UntoleratedTaint
from tests.reasons import EXAMPLES
from tests.unit.loop.recording import replayed
from tests.words import lie, node_term, when

RECORDED = Path(__file__).parent / "format_1"
"""By Rota 0.5.0: a cycle for nearly every reason that there was."""


@pytest.mark.covers("why-4")
def test_cycles_that_an_older_rota_recorded_are_decided_again() -> None:
    found = replayed(RECORDED)
    # In one of them a job waits for what it was promised while its seats are free: now it starts.
    changed = [one for one in found if one.recorded != one.decided]
    assert [list(map(type, reasons_of(one.recorded))) for one in changed] == [[PromisedLater]]
    assert [one.decided.waiting for one in changed] == [()]
    assert len({type(reason) for cycle in found for reason in reasons_of(cycle.recorded)}) == 52


def reasons_of(plan: Plan) -> list[Reason]:
    return [refusal.reason for entry in plan.waiting for refusal in entry.verdict.refusals]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (Written("pool", "gpu, web"), NotInPool(("gpu", "web"))),
        (Written("gpu model", "A100 or H100"), OtherGpuModel(("A100", "H100"))),
        (
            Written("node affinity", "zone In a,b and gen Gt 3 or metadata.name NotIn n or nothing"),
            NodeAffinityUnmet(
                (
                    node_term("zone In a,b", "gen Gt 3"),
                    NodeTerm(names=(when("metadata.name NotIn n"),)),
                    NodeTerm(),
                )
            ),
        ),
        (Written("taint", "team=ml:NoSchedule"), UntoleratedTaint("team", "ml", Effect.NO_SCHEDULE)),
        (
            Written("taint", "k061:NoSchedule and 38 others"),
            UntoleratedTaint("k061", "", Effect.NO_SCHEDULE, 38),
        ),
        (
            Written("insufficient", "gpu share", 500, 200),
            Insufficient("gpu", 500, 200, of_one_device=True),
        ),
        (
            Written("insufficient", "cpu", 2, 1, "memory,slots"),
            Insufficient("cpu", 2, 1, also=("memory", "slots")),
        ),
        (Written("port taken", "UDP/53@10.0.0.1"), PortTaken(HostPort(53, "UDP", "10.0.0.1"))),
        (Written("claim in use", "claim c"), ClaimInUse("c")),
        (
            Written("volume affinity", detail="no volume to bind"),
            VolumeOutOfReach((VolumeTrouble.UNBOUND,)),
        ),
        (Written("job affinity", "zone: app In db"), JobAffinityUnmet("zone", (when("app In db"),))),
        (Written("job anti-affinity", "host: any job"), JobAntiAffinityUnmet("host")),
        (Written("plugin", "licences", detail="none left"), RefusedByPlugin("licences", "none left")),
        (
            Written("topology", "zone", 4, 2, "zone: 2, host: different"),
            LayoutLacksRoom((lie("zone", "count", 2), lie("host", "different")), 4, 2),
        ),
        (Written("quota beyond", "vision/ada cpu", 9, 4), BeyondQuota(("vision", "ada"), "cpu", 9, 4)),
        (Written("limit", "user ada cpu", 9, 4), LimitReached("user", "ada", "cpu", 9, 4)),
        (Written("limit", "queue long jobs", 1, 4), LimitReached("queue", "long", "", 1, 4)),
        (Written("calendar", "train", 5), RoomPlanned(JobId("train"), 5)),
        (Written("reservation", "exam", 5), RoomReserved("exam", 5)),
        (
            Written("reservation", "exam", 5, detail="over"),
            OutsideReservation("exam", ReservationTime.OVER, 5),
        ),
        (Written("not reserved for", "exam", detail="vision/ada"), NotReservedFor("exam", "vision", "ada")),
    ],
    ids=lambda one: getattr(one, "code", ""),
)
def test_facts_that_were_packed_into_texts(written: Written, reason: Reason) -> None:
    assert read_reason(Reason, to_builtins(written)) == reason


def test_a_code_that_nobody_knows() -> None:
    with pytest.raises(ValidationError, match="there is no reason with the code 'mood'"):
        read_reason(Reason, {"code": "mood"})
    with pytest.raises(ValidationError, match="there is no reason with the code 'mood'"):
        convert({"reason": {"code": "mood"}, "nodes": 1}, Refusal, dec_hook=read_coded)


@pytest.mark.parametrize("reason", EXAMPLES, ids=lambda reason: reason.code)
def test_what_is_written_now_is_read_as_it_was(reason: Reason) -> None:
    refusal = Refusal(reason, 3)
    assert Decoder(Refusal, dec_hook=read_coded).decode(Encoder().encode(refusal)) == refusal


def test_reasons_that_say_the_same_of_something_else_are_told_apart() -> None:
    assert len({encoded(reason) for reason in EXAMPLES}) == len(EXAMPLES)
