"""Decisions in the log: each binding once, each wait when it changes, and never too many."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from rota.kube.scheduling.decision_log import MOST_LINES, PERIOD_S, DecisionLog
from rota.model.ids import JobId, NodeName, TaskName
from rota.model.plan import Scored

pytestmark = pytest.mark.covers("kube-10")

POD = JobId("default/p")
GANG = JobId("default/gang:train")


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_pod_and_a_gang_that_are_bound() -> None:
    told = DecisionLog(Clock())
    with capture_logs() as lines:
        told.bound(POD, {TaskName(POD): NodeName("n1")}, took_s=0.0124)
        ranks = {TaskName(f"default/train-{rank}"): NodeName("n1" if rank < 2 else "n2") for rank in range(3)}
        told.bound(GANG, ranks, took_s=0.5)
    pod, gang = lines
    assert pod == {"event": "kube.pod_bound", "log_level": "info", "pod": POD, "node": "n1", "ms": 12}
    assert (gang["event"], gang["gang"], gang["pods"]) == ("kube.gang_bound", GANG, 3)
    assert (gang["nodes"], gang["ms"]) == ("n1 ×2, n2", 500)


def test_scores_in_short_and_who_goes_for_whom() -> None:
    told = DecisionLog(Clock())
    scored = Scored(POD, 63, (("utilisation", 50), ("affinity", 80)))
    with capture_logs() as lines:
        told.bound(POD, {TaskName(POD): NodeName("n1")}, 0.0, scored)
        told.preempted(POD, NodeName("n1"), [TaskName(f"default/v{number}") for number in range(7)])
    assert lines[0]["score"] == "63 (utilisation 50, affinity 80)"
    room = lines[1]
    assert (room["event"], room["job"], room["node"], room["victims"]) == ("kube.room_made", POD, "n1", 7)
    assert room["names"] == "default/v0, default/v1, default/v2, default/v3, default/v4 and 2 more"


def cycle(told: DecisionLog, *waits: tuple[JobId, str]) -> None:
    for job, why in waits:
        told.waits(job, why)
    told.end_cycle()


def test_a_wait_is_told_when_it_changes_and_then_ever_more_rarely() -> None:
    clock = Clock()
    told = DecisionLog(clock)
    with capture_logs() as lines:
        for now_s, why in (
            (0, "too few"),
            (0, "too few"),
            (1, "no room"),
            (10, "no room"),
            (20, "a taint"),
            (30, "a taint"),
        ):
            clock.now_s = now_s
            cycle(told, (GANG, why), (GANG, why))
    assert [(line["why"], line["pods"]) for line in lines] == [("too few", 2), ("no room", 2), ("a taint", 2)]


def test_what_waits_again_is_told_again() -> None:
    told = DecisionLog(Clock())
    with capture_logs() as lines:
        cycle(told, (POD, "no room"))
        cycle(told)
        cycle(told, (POD, "no room"))
    assert [line["event"] for line in lines] == ["kube.waits", "kube.waits"]


def test_a_thousand_that_wait_are_a_hundred_lines_and_a_count() -> None:
    clock = Clock()
    told = DecisionLog(clock)
    everybody = [(JobId(f"default/p{number}"), "no room") for number in range(1000)]
    with capture_logs() as lines:
        cycle(told, *everybody)
        assert len(lines) == MOST_LINES
        clock.now_s = PERIOD_S
        cycle(told, *everybody)
    (untold,) = lines[MOST_LINES:]
    assert (untold["event"], untold["count"]) == ("kube.waits_untold", 1000 - MOST_LINES)
