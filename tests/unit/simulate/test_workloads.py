"""Workloads changed on purpose."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from rota.intake.traces.files import TraceOptions, read_workload
from rota.model.ids import NodeName, QueueName
from rota.model.job import Placement
from rota.model.workload import ENDLESS_MS, SimJob, Workload, offered_load
from rota.simulate.workloads import Carelessness, at_load, with_careless_limits, with_interactive
from tests.unit.simulate.workloads import sim_job, workload

SWF = Path(__file__).parents[2] / "data" / "traces" / "rota_synth_256.swf.gz"


@cache
def trace() -> Workload:
    return read_workload(SWF, options=TraceOptions(tasks="whole"))


def some(count: int = 40) -> Workload:
    return workload(*(sim_job(f"j{n:02}", at=n * 10, runs=60, cpu=1) for n in range(count)))


class TestLoad:
    @pytest.mark.parametrize("load", [0.5, 1.0, 1.1])
    def test_is_what_was_asked_for(self, load: float) -> None:
        assert offered_load(at_load(trace(), load)) == pytest.approx(load, rel=1e-6)

    def test_leaves_all_but_arrivals_as_it_was(self) -> None:
        before, after = some(), at_load(some(), 3)
        assert [one.run_ms for one in after.jobs] == [one.run_ms for one in before.jobs]
        assert [one.job.template for one in after.jobs] == [one.job.template for one in before.jobs]
        assert [one.job.submitted_ms for one in after.jobs] == [one.arrival_ms for one in after.jobs]
        arrivals = [one.arrival_ms for one in after.jobs]
        assert arrivals == sorted(arrivals)
        assert arrivals[0] == 0

    def test_periods_move_along(self) -> None:
        first, last = sim_job("a", cpu=1), sim_job("b", at=100, cpu=1)
        last = replace(last, job=replace(last.job, start_after_ms=120_000, start_before_ms=150_000))
        moved = at_load(workload(first, last), offered_load(workload(first, last)) * 2).jobs[1]
        assert moved.arrival_ms == 50_000
        assert (moved.job.start_after_ms, moved.job.start_before_ms) == (70_000, 100_000)

    @pytest.mark.parametrize("load", [0, -1])
    def test_must_be_more_than_nothing(self, load: float) -> None:
        with pytest.raises(ValueError, match="more than 0"):
            at_load(some(), load)

    def test_of_endless_jobs_is_none(self) -> None:
        with pytest.raises(ValueError, match="never end"):
            at_load(workload(sim_job("a", runs=ENDLESS_MS / 1000), sim_job("b", at=1)), 1)

    def test_of_a_single_moment_is_none(self) -> None:
        with pytest.raises(ValueError, match="arrive over time"):
            at_load(workload(sim_job("a", cpu=1)), 1)


class TestInteractive:
    def test_that_share_is_moved(self) -> None:
        moved = with_interactive(some(), 0.25, seed=1)
        assert sum(one.job.template.queue == "interactive" for one in moved.jobs) == 10

    def test_the_seed_draws_them(self) -> None:
        one, same, other = (with_interactive(some(), 0.25, seed=seed) for seed in (1, 1, 2))
        assert one == same
        assert one != other

    def test_nothing_else_changes(self) -> None:
        moved = with_interactive(some(), 1, seed=1, queue="now")
        back = [_in_queue(one, "default") for one in moved.jobs]
        assert tuple(back) == some().jobs

    def test_equal_jobs_share_one_template_as_before(self) -> None:
        moved = with_interactive(trace(), 1, seed=1)
        assert len({id(one.job.template) for one in moved.jobs}) == len(
            {one.job.template for one in moved.jobs}
        )

    def test_what_runs_already_stays(self) -> None:
        running = replace(sim_job("r", cpu=1), placements=(Placement(0, NodeName("n"), 0),))
        assert with_interactive(workload(running), 1, seed=1).jobs == (running,)

    @pytest.mark.parametrize("share", [-0.1, 1.1])
    def test_a_share_is_from_0_to_1(self, share: float) -> None:
        with pytest.raises(ValueError, match="from 0 to 1"):
            with_interactive(some(), share, seed=1)


def _in_queue(one: SimJob, queue: str) -> SimJob:
    return replace(one, job=replace(one.job, template=replace(one.job.template, queue=QueueName(queue))))


class TestCarelessLimits:
    @pytest.mark.parametrize("kind", Carelessness)
    def test_are_far_too_high_for_most_and_too_low_for_some(self, kind: Carelessness) -> None:
        jobs = with_careless_limits(trace(), 1, kind).jobs
        limits = [one.job.template.time_limit_ms or 0 for one in jobs]
        generous = sum(limit > 2 * one.run_ms for one, limit in zip(jobs, limits, strict=True))
        cut = sum(limit < one.run_ms for one, limit in zip(jobs, limits, strict=True))
        assert generous / len(jobs) > 0.6
        assert 0.005 < cut / len(jobs) < 0.1

    @pytest.mark.parametrize("kind", Carelessness)
    def test_are_round(self, kind: Carelessness) -> None:
        limits = {one.job.template.time_limit_ms for one in with_careless_limits(trace(), 1, kind).jobs}
        assert len(limits) < 25
        assert all(limit is not None and limit % 300_000 == 0 for limit in limits)

    @pytest.mark.parametrize("kind", Carelessness)
    def test_are_drawn_by_the_seed(self, kind: Carelessness) -> None:
        one, same, other = (with_careless_limits(trace(), seed, kind) for seed in (1, 1, 2))
        assert one == same
        assert one != other

    @pytest.mark.parametrize("kind", Carelessness)
    def test_leave_arrivals_and_run_times_as_they_were(self, kind: Carelessness) -> None:
        jobs = with_careless_limits(trace(), 1, kind).jobs
        assert [(one.job.id, one.arrival_ms, one.run_ms) for one in jobs] == [
            (one.job.id, one.arrival_ms, one.run_ms) for one in trace().jobs
        ]

    def test_of_habit_many_users_always_ask_for_the_same(self) -> None:
        by_user: dict[str, set[int | None]] = {}
        for one in with_careless_limits(trace(), 1, Carelessness.HABIT).jobs:
            by_user.setdefault(one.job.template.user, set()).add(one.job.template.time_limit_ms)
        assert sum(len(limits) == 1 for limits in by_user.values()) > len(by_user) / 2

    def test_of_endless_jobs_stay_as_they_are(self) -> None:
        endless = workload(sim_job("a", runs=ENDLESS_MS / 1000))
        assert with_careless_limits(endless, 1, Carelessness.ROUND) == endless

    def test_of_runs_that_no_round_number_is_long_enough_for(self) -> None:
        long = workload(sim_job("a", runs=100 * 86_400))
        [one] = with_careless_limits(long, 3, Carelessness.HABIT).jobs
        assert (one.job.template.time_limit_ms or 0) % 86_400_000 == 0
