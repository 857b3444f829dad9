"""What is announced ahead: maintenance, reservations, the state of queues, periods and partners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import pytest

from rota.model.job import AtMaintenance
from rota.model.plan import EvictionCause
from rota.model.policy import QueuePolicy
from rota.model.reasons import (
    AwaitsPartner,
    EvictedForMaintenance,
    MaintenanceAhead,
    NotReservedFor,
    OutsideReservation,
    QueueClosed,
    QueuePaused,
    RoomReserved,
    SlaMissed,
)
from rota.model.verdict import Kind
from tests.builders import Cluster, policy

POLICY = policy(queues=(QueuePolicy(),), preemption=False)
ONE = Cluster().node("n", cpu=4)


class Inside(TypedDict):
    reservation: str
    template: Mapping[str, str]


def inside(reservation: str, user: str = "default") -> Inside:
    return {"reservation": reservation, "template": {"project": "vision", "user": user}}


@pytest.mark.covers("time-5")
class TestMaintenance:
    SOON = ONE.maintenance("disks", start=60, end=120)

    def test_who_is_done_by_then_starts(self) -> None:
        assert self.SOON.job("short", cpu=1, limit=60).plan(POLICY).places("short") == ["n"]

    def test_who_is_not_waits_until_it_is_over(self) -> None:
        plan = self.SOON.job("long", cpu=1, limit=61).plan(POLICY)
        reason = plan.waits("long").refusals[0].reason
        assert isinstance(reason, MaintenanceAhead)
        assert reason.window == "disks"
        assert plan.start("long") == 120

    def test_so_does_a_job_without_a_limit(self) -> None:
        assert self.SOON.job("endless", cpu=1).plan(POLICY).start("endless") == 120

    def test_other_nodes_are_free(self) -> None:
        cluster = ONE.nodes("m o", cpu=4).maintenance("disks", start=60, end=120, on="n m")
        assert cluster.job("j", cpu=1).plan(POLICY).places("j") == ["o"]

    def test_what_still_runs_when_it_begins_goes_back_to_the_queue(self) -> None:
        cluster = ONE.maintenance("disks", start=0, end=60).running("old", on=["n"], cpu=1, limit=9000)
        plan = cluster.plan(POLICY)
        assert [one.cause for one in plan.plan.evictions] == [EvictionCause.MAINTENANCE]
        assert not plan.plan.evictions[0].ends_job
        assert plan.reasons("old") == {EvictedForMaintenance}

    def test_or_ends_where_the_job_says_so(self) -> None:
        cluster = ONE.maintenance("disks", start=0, end=60).running(
            "old", on=["n"], cpu=1, limit=9000, template={"at_maintenance": AtMaintenance.END}
        )
        assert cluster.plan(POLICY).plan.evictions[0].ends_job

    def test_a_gang_that_loses_too_many_goes_as_a_whole(self) -> None:
        cluster = ONE.node("m", cpu=4).maintenance("disks", start=0, end=60, on="n")
        cluster = cluster.running("gang", on=["n", "m"], cpu=1, limit=9000)
        assert cluster.plan(POLICY).evicts("gang") == ["n", "m"]

    def test_nothing_starts_during_it(self) -> None:
        plan = ONE.maintenance("disks", start=-60, end=60).job("j", cpu=1, limit=1).plan(POLICY)
        assert plan.start("j") == 60

    def test_it_is_over_at_its_end(self) -> None:
        plan = ONE.maintenance("disks", start=-60, end=0).job("j", cpu=1, limit=1).plan(POLICY)
        assert plan.places("j") == ["n"]


@pytest.mark.covers("time-4")
class TestReservation:
    COURSE = ONE.node("m", cpu=4).reservation("course", start=0, end=3600, on="n", tenants=["vision"])
    INSIDE = inside("course")

    def test_who_names_it_runs_inside(self) -> None:
        plan = self.COURSE.job("j", cpu=4, limit=60, **self.INSIDE).plan(POLICY)
        assert plan.places("j") == ["n"]

    def test_and_nowhere_else(self) -> None:
        cluster = self.COURSE.job("i", cpu=4, limit=60, **self.INSIDE)
        plan = cluster.job("j", cpu=4, limit=60, submitted=1, **self.INSIDE).plan(POLICY)
        assert plan.places("j") == []
        assert plan.start("j") == 60

    def test_others_keep_out(self) -> None:
        plan = self.COURSE.job("i", cpu=4, limit=60).job("j", cpu=4, limit=60, submitted=1).plan(POLICY)
        assert plan.places("i") == ["m"]
        assert plan.start("j") == 60

    def test_others_may_be_there_before_it_begins(self) -> None:
        cluster = ONE.reservation("course", start=60, end=3600, on="n", tenants=["vision"])
        cluster = cluster.job("short", cpu=2, limit=60).job("long", cpu=2, limit=61, submitted=1)
        plan = cluster.plan(POLICY)
        assert plan.places("short") == ["n"]
        reason = plan.waits("long").refusals[0].reason
        assert isinstance(reason, RoomReserved)
        assert reason.reservation == "course"
        assert plan.start("long") == 3600

    def test_who_is_not_of_its_tenants_never_gets_in(self) -> None:
        plan = self.COURSE.job("j", cpu=1, limit=60, reservation="course").plan(POLICY)
        assert plan.reasons("j") == {NotReservedFor}
        assert plan.waits("j").kind is Kind.NEVER

    def test_before_it_begins_a_start_is_planned(self) -> None:
        cluster = ONE.reservation("course", start=60, end=3600, on="n", tenants=["vision/ada"])
        plan = cluster.job("j", cpu=1, limit=60, **inside("course", "ada")).plan(POLICY)
        assert plan.reasons("j") == {OutsideReservation}
        assert plan.start("j") == 60

    def test_who_would_outlast_it_does_not_start(self) -> None:
        plan = self.COURSE.job("j", cpu=1, limit=3601, **self.INSIDE).plan(POLICY)
        assert plan.reasons("j") == {OutsideReservation}
        assert plan.starts() == {}

    def test_of_a_share_the_rest_is_free(self) -> None:
        cluster = ONE.reservation("part", start=0, end=3600, on="n", tenants=["vision"], cpu=3)
        cluster = cluster.job("in", cpu=3, limit=60, **inside("part")).job("out", cpu=1, limit=60)
        plan = cluster.job("too", cpu=1, limit=60, submitted=1).plan(POLICY)
        assert plan.places("in") == plan.places("out") == ["n"]
        assert plan.places("too") == []

    def test_what_runs_inside_is_not_counted_twice(self) -> None:
        cluster = ONE.reservation("part", start=-60, end=3600, on="n", tenants=["vision"], cpu=3)
        cluster = cluster.running("in", on=["n"], cpu=2, limit=3000, started=-9, **inside("part"))
        plan = cluster.job("out", cpu=1, limit=60).job("more", cpu=1, limit=60, **inside("part")).plan(POLICY)
        assert plan.places("out") == plan.places("more") == ["n"]

    def test_of_devices(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=8, gpus=4)
            .reservation("half", start=0, end=3600, on="n", tenants=["vision"], gpus=2, cpu=4)
        )
        cluster = cluster.job("out", gpu=2, cpu=1, limit=60).job(
            "in", gpu=2, cpu=1, limit=60, **inside("half")
        )
        plan = cluster.job("too", gpu=1, cpu=1, limit=60, submitted=1).plan(POLICY)
        assert plan.devices("out") == [(0, 1)]
        assert plan.devices("in") == [(2, 3)]
        assert plan.places("too") == []


@pytest.mark.covers("time-6")
class TestQueues:
    def test_a_paused_queue_starts_nothing(self) -> None:
        plan = ONE.queue("default", "paused", message="storage is slow").job("j", cpu=1).plan(POLICY)
        reason = plan.waits("j").refusals[0].reason
        assert isinstance(reason, QueuePaused)
        assert reason.message == "storage is slow"

    def test_others_do(self) -> None:
        assert ONE.queue("night", "paused").job("j", cpu=1).plan(POLICY).places("j") == ["n"]

    def test_a_closed_queue_starts_what_came_before(self) -> None:
        cluster = ONE.queue("default", "closed", since=-60).job("old", cpu=1, submitted=-61)
        plan = cluster.job("new", cpu=1, submitted=-60).plan(POLICY)
        assert plan.places("old") == ["n"]
        assert plan.reasons("new") == {QueueClosed}

    @pytest.mark.parametrize("modes", ["paused closed open", "closed paused open", "paused open paused open"])
    def test_once_open_it_is_as_before(self, modes: str) -> None:
        cluster = ONE.job("j", cpu=1)
        for mode in modes.split():
            cluster = cluster.queue("default", mode)
        assert cluster.plan(POLICY).places("j") == ["n"]


@pytest.mark.covers("time-9")
def test_who_did_not_start_soon_enough_fails() -> None:
    plan = ONE.job("j", cpu=1, submitted=-61, template={"start_within_ms": 60_000}).plan(POLICY)
    assert plan.reasons("j") == {SlaMissed}
    assert plan.waits("j").kind is Kind.NEVER


@pytest.mark.covers("time-9")
def test_jobs_of_one_kind_are_late_one_by_one() -> None:
    cluster = ONE.job("late", cpu=1, submitted=-61, template={"start_within_ms": 60_000})
    plan = cluster.job("soon", cpu=1, submitted=-59, template={"start_within_ms": 60_000}).plan(POLICY)
    assert plan.places("soon") == ["n"]


@pytest.mark.covers("gang-4")
class TestPartners:
    BUSY = ONE.running("old", on=["n"], cpu=3, started=0, limit=60)

    def test_a_partner_that_waits_is_joined_in_its_slot(self) -> None:
        cluster = self.BUSY.job("server", cpu=2, limit=600).job(
            "client", cpu=1, limit=60, submitted=1, template={"connect_to": "server"}
        )
        plan = cluster.plan(POLICY)
        assert plan.reasons("client") == {AwaitsPartner}
        assert plan.starts() == {"server": 60, "client": 60}

    def test_whoever_came_first(self) -> None:
        cluster = self.BUSY.job("client", cpu=1, limit=60, template={"connect_to": "server"})
        assert cluster.job("server", cpu=2, limit=600, submitted=1).plan(POLICY).starts() == {
            "server": 60,
            "client": 60,
        }

    def test_who_finds_no_room_in_it_waits_for_its_partner(self) -> None:
        cluster = self.BUSY.job("server", cpu=4, limit=600).job(
            "client", cpu=1, limit=60, submitted=1, template={"connect_to": "server"}
        )
        plan = cluster.plan(POLICY)
        assert plan.starts() == {"server": 60}
        assert plan.reasons("client") == {AwaitsPartner}

    NETS = Cluster().node("b", cpu=4, labels={"network": "blue"}).node("r", cpu=4, labels={"network": "red"})

    def test_it_goes_where_its_partner_can_be_reached(self) -> None:
        cluster = self.NETS.running("server", on=["r"], cpu=3)
        plan = cluster.job("client", cpu=1, template={"connect_to": "server"}).plan(POLICY)
        assert plan.places("client") == ["r"]

    def test_also_where_the_partner_only_will_be(self) -> None:
        cluster = self.NETS.running("old", on=["r"], cpu=4, started=0, limit=60).running("x", on=["b"], cpu=3)
        cluster = cluster.job("server", cpu=2, limit=600)
        plan = cluster.job("client", cpu=1, limit=60, submitted=1, template={"connect_to": "server"}).plan(
            POLICY
        )
        assert plan.start_places("client") == plan.start_places("server") == ["r"]

    def test_without_room_within_reach_it_waits(self) -> None:
        cluster = self.NETS.running("server", on=["r"], cpu=4)
        assert (
            cluster.job("client", cpu=1, template={"connect_to": "server"}).plan(POLICY).places("client")
            == []
        )
