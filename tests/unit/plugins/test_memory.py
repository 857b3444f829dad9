"""Machines whose memory is full of other things, and those where it is only scarce."""

import pytest

from rota.model.reasons import Insufficient, MemoryInUse
from rota.model.verdict import Kind
from rota.plugins.memory import MemoryFilter, MemoryFull
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged

pytestmark = pytest.mark.covers("agent-2")

GIB = 1 << 30


def test_a_full_one_takes_nothing_also_of_those_who_ask_for_no_memory() -> None:
    nodes = (
        Cluster()
        .node("idle", memory="8Gi")
        .node("busy", memory="8Gi", others="7Gi")
        .node("full", memory="8Gi", others="8Gi")
    )
    judged = Judged(MemoryFilter(), nodes)
    assert judged.passes == ["busy", "idle"]
    assert judged.reasons == {"full": [MemoryFull()]}
    verdict = Cluster().node("full", cpu=4, memory="8Gi", others="8Gi").job("j", cpu=1).plan().waits("j")
    assert verdict.kind is Kind.NOT_NOW


def test_what_others_have_is_no_room() -> None:
    """Nor for several that would each find room alone."""
    cluster = Cluster().node("n", cpu=8, memory="64Gi", others="48Gi")
    plan = cluster.job("j", cpu=1, memory="6Gi", tasks=4, min_available=1).plan()
    assert len(plan.places("j")) == 2


def test_it_is_said_who_has_it() -> None:
    nodes = Cluster().node("n", cpu=8, memory="64Gi", others="60Gi").running("r", on=["n"], memory="2Gi")
    [refusal] = nodes.job("j", memory="6Gi").plan().waits("j").refusals
    assert refusal.reason == MemoryInUse(6 * GIB, 2 * GIB)
    [refusal] = (
        Cluster()
        .node("n", memory="8Gi", others="1Gi")
        .running("r", on=["n"], memory="6Gi")
        .job("j", memory="4Gi")
        .plan()
        .waits("j")
        .refusals
    )
    assert refusal.reason == Insufficient("memory", 4 * GIB, 1 * GIB), "tasks have it, not others"


def test_it_is_never_said_that_a_job_can_never_start_there() -> None:
    verdict = Cluster().node("n", memory="8Gi", others="8Gi").job("j", memory="8Gi").plan().waits("j")
    assert verdict.kind is Kind.NOT_NOW
