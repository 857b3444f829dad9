"""What each code means: who says it, whether it can pass, and by which events."""

import pytest

from rota.model.verdict import RULES, Code, Kind, Reason, Refusal, Unblock, Verdict


def test_every_code_has_its_rule() -> None:
    assert set(RULES) == set(Code)


@pytest.mark.covers("why-1")
@pytest.mark.parametrize("code", Code)
def test_every_code_says_after_which_events_to_ask_again(code: Code) -> None:
    rule = RULES[code]
    assert rule.plugin
    assert rule.unblocked_by
    assert len(set(rule.unblocked_by)) == len(rule.unblocked_by)


@pytest.mark.parametrize("code", [code for code in Code if RULES[code].kind is Kind.NEVER])
def test_what_never_passes_by_itself_is_not_undone_by_tasks_or_time(code: Code) -> None:
    by_itself = {Unblock.TASK_ENDED, Unblock.TASK_PLACED, Unblock.TIME_PASSED, Unblock.NEXT_CYCLE}
    assert not by_itself & set(RULES[code].unblocked_by)


@pytest.mark.parametrize(
    "code",
    [
        Code.INSUFFICIENT,
        Code.NODE_IN_USE,
        Code.NODE_EXCLUSIVE,
        Code.PORT_TAKEN,
        Code.DISK_TAKEN,
        Code.CLAIM_IN_USE,
        Code.VOLUME_LIMIT,
        Code.JOB_ANTI_AFFINITY,
        Code.RUNNING_ANTI_AFFINITY,
        Code.GANG,
        Code.TOPOLOGY,
        Code.QUOTA,
    ],
)
def test_what_running_tasks_cause_their_end_can_change(code: Code) -> None:
    assert RULES[code].kind is Kind.NOT_NOW
    assert Unblock.TASK_ENDED in RULES[code].unblocked_by


@pytest.mark.parametrize("code", [Code.JOB_AFFINITY, Code.SPREAD, Code.PLUGIN, Code.PARTNER])
def test_what_lacks_company_a_placement_can_change(code: Code) -> None:
    assert RULES[code].kind is Kind.NOT_NOW
    assert Unblock.TASK_PLACED in RULES[code].unblocked_by


def test_a_reason_is_as_its_code_says() -> None:
    reason = Reason(Code.TAINT, "gpu:NoSchedule")
    assert (reason.plugin, reason.kind) == ("taints", Kind.NEVER)
    assert reason.unblocked_by == RULES[Code.TAINT].unblocked_by


def test_a_plugin_from_outside_speaks_under_its_own_name() -> None:
    assert Reason(Code.PLUGIN, "no-mondays").plugin == "no-mondays"


def test_a_verdict_is_undone_by_any_event_that_undoes_one_of_its_reasons() -> None:
    full, waits = Reason(Code.QUOTA, "a cpu"), Reason(Code.PARTNER, "b")
    verdict = Verdict(Kind.NOT_NOW, (Refusal(full, 0), Refusal(waits, 0)))
    assert verdict.unblocked_by == {Unblock.TASK_ENDED, Unblock.POLICY_CHANGED, Unblock.TASK_PLACED}
