"""Moments at which time alone changes what is to be decided."""

from __future__ import annotations

from rota.forecast import moments
from rota.model.calendar import Maintenance, Reservation
from rota.model.cluster import Calendar
from rota.model.ids import NodeName
from rota.model.job import JobTemplate
from rota.model.policy import Policy, Promotion
from rota.model.taints import Effect, Taint, Toleration
from tests.builders import Cluster, policy
from tests.words import NOW_MS, job, tasks


def test_maintenance_and_reservations_matter_when_they_begin_and_end() -> None:
    calendar = Calendar((Maintenance("m", 10, 20),), (Reservation("r", 15, 30, (NodeName("n"),), ("p",)),))
    assert sorted(moments.of_calendar(calendar)) == [10, 15, 20, 30]


def test_of_a_job_that_waits_for_nothing() -> None:
    assert list(moments.of_waiting(job("j", {}), Policy())) == []


def test_of_a_job_with_a_service_level() -> None:
    waiting = job("j", {"template": {"start_within_ms": 5000}})
    assert list(moments.of_waiting(waiting, Policy())) == [NOW_MS + 5001]


def test_of_a_job_whose_scheduler_has_a_timeout() -> None:
    assert list(moments.of_waiting(job("j", {}), policy(timeout_ms=7000))) == [NOW_MS + 7001]


def test_of_a_job_that_rises() -> None:
    rising = list(moments.of_waiting(job("j", {}), policy(promotion=Promotion(every_ms=1000))))
    assert rising[:2] == [NOW_MS + 1000, NOW_MS + 2000]


def test_of_a_job_that_no_scheduler_serves() -> None:
    assert list(moments.of_waiting(job("j", {}), policy(namespaces=("other",)))) == []


def test_of_taints_that_are_borne_for_a_while() -> None:
    taint = Taint("down", Effect.NO_EXECUTE, added_ms=1000)
    nodes = Cluster().node("n", taints=[taint, "x:NoSchedule"]).node("m", taints=[taint]).records.nodes
    assert moments.evicting_taints(nodes) == (taint,)
    patient = JobTemplate((tasks(1, tolerates=[Toleration("down", exists=True, seconds=30)]),))
    immune = JobTemplate((tasks(1, tolerates=[Toleration("down", exists=True)]),))
    assert list(moments.of_taints(patient, (taint,))) == [31_000]
    assert list(moments.of_taints(immune, (taint,))) == []


def test_how_long_a_job_is_left_alone() -> None:
    template = JobTemplate((tasks(1),))
    assert moments.least_run_ms(template, policy(min_run=7)) == 7000
    assert moments.least_run_ms(template, policy(min_run=7, preemption=False)) == 0
