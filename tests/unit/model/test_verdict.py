"""What each reason means: who says it, whether it can pass, and by which events."""

import pytest

from rota.model.ids import JobId
from rota.model.reasons import (
    AwaitsPartner,
    ClaimInUse,
    DiskTaken,
    GangLacksRoom,
    Insufficient,
    JobAffinityUnmet,
    JobAntiAffinityUnmet,
    LayoutLacksRoom,
    NodeExclusive,
    NodeInUse,
    PortTaken,
    QuotaReached,
    RefusedByPlugin,
    RunningAntiAffinity,
    SpreadUneven,
    TooManyVolumes,
)
from rota.model.verdict import Kind, Reason, Refusal, Unblock, Verdict
from rota.model.vocabulary import members_of
from rota.plugins.taints import UntoleratedTaint
from tests.reasons import EXAMPLES

EVERY = list(members_of(Reason).values())


def test_there_is_an_example_of_every_reason_of_the_engine() -> None:
    codes = {code for code, kind in members_of(Reason).items() if kind.__module__.startswith("rota.model.")}
    assert codes <= {one.code for one in EXAMPLES}


@pytest.mark.covers("why-1")
@pytest.mark.parametrize("kind", EVERY)
def test_every_reason_says_after_which_events_to_ask_again(kind: type[Reason]) -> None:
    rule = kind.rule
    assert rule.plugin
    assert rule.unblocked_by
    assert len(set(rule.unblocked_by)) == len(rule.unblocked_by)


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind.rule.kind is Kind.NEVER])
def test_what_never_passes_by_itself_is_not_undone_by_tasks_or_time(kind: type[Reason]) -> None:
    by_itself = {Unblock.TASK_ENDED, Unblock.TASK_PLACED, Unblock.TIME_PASSED, Unblock.NEXT_CYCLE}
    assert not by_itself & set(kind.rule.unblocked_by)


@pytest.mark.parametrize(
    "kind",
    [
        Insufficient,
        NodeInUse,
        NodeExclusive,
        PortTaken,
        DiskTaken,
        ClaimInUse,
        TooManyVolumes,
        JobAntiAffinityUnmet,
        RunningAntiAffinity,
        GangLacksRoom,
        LayoutLacksRoom,
        QuotaReached,
    ],
)
def test_what_running_tasks_cause_their_end_can_change(kind: type[Reason]) -> None:
    assert kind.rule.kind is Kind.NOT_NOW
    assert Unblock.TASK_ENDED in kind.rule.unblocked_by


@pytest.mark.parametrize("kind", [JobAffinityUnmet, SpreadUneven, RefusedByPlugin, AwaitsPartner])
def test_what_lacks_company_a_placement_can_change(kind: type[Reason]) -> None:
    assert kind.rule.kind is Kind.NOT_NOW
    assert Unblock.TASK_PLACED in kind.rule.unblocked_by


def test_a_reason_is_as_its_rule_says() -> None:
    reason = UntoleratedTaint("gpu")
    assert (reason.code, reason.plugin, reason.kind) == ("taint", "taints", Kind.NEVER)
    assert reason.unblocked_by == UntoleratedTaint.rule.unblocked_by


def test_a_plugin_from_outside_is_named() -> None:
    assert RefusedByPlugin("no-mondays").plugin == "no-mondays"


def test_what_unblocks_a_job_is_what_unblocks_any_of_its_reasons() -> None:
    full, waits = QuotaReached(("a",), "cpu", 1), AwaitsPartner(JobId("b"))
    verdict = Verdict(Kind.NOT_NOW, (Refusal(full, 0), Refusal(waits, 0)))
    assert verdict.unblocked_by == {Unblock.TASK_ENDED, Unblock.POLICY_CHANGED, Unblock.TASK_PLACED}
