"""SWF: what the columns become, and what is wrong with lines."""

import gzip
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.intake.errors import InputError
from rota.intake.traces._swf_columns import FIELDS
from rota.intake.traces.files import TraceOptions
from rota.intake.traces.swf import swf_from
from rota.model.workload import RecordedEnd, Workload, offered_load
from tests.unit.intake.traces.reading import DATA, by_id, left_out, read, read_data, refusal

TRACE = "rota_synth_256.swf.gz"


def job(number: int = 1, **fields: float | str) -> str:
    values = dict.fromkeys(FIELDS, "-1") | {"job_number": str(number), "submit_time": "0", "run_time": "60"}
    values |= {"requested_processors": "4", "status": "1"}
    return " ".join((values | {name: str(value) for name, value in fields.items()}).values())


def parse(*lines: str, **options: object) -> Workload:
    return swf_from("\n".join(lines) + "\n", "jobs.swf", **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def workload() -> Workload:
    return read_data(TRACE)


@pytest.mark.slow
class TestTheWholeTrace:
    def test_has_the_totals_that_its_readme_states(self, workload: Workload) -> None:
        sizes = [one.job.template.task_count for one in workload.jobs]
        assert len(workload.jobs) == 10_000
        assert round(sum(sizes) / len(sizes), 1) == 22.2
        assert sizes.count(1) / len(sizes) == pytest.approx(0.246, abs=0.0005)
        assert round(sum(one.run_ms for one in workload.jobs) / 10_000 / 1000) == 4904
        assert round(offered_load(workload), 3) == 0.851
        assert len(workload.nodes) == 256
        assert workload.notes == ()

    def test_never_runs_beyond_its_limits_and_is_in_order(self, workload: Workload) -> None:
        assert all(one.run_ms <= (one.job.template.time_limit_ms or 0) for one in workload.jobs)
        assert all(one.arrival_ms <= other.arrival_ms for one, other in pairwise(workload.jobs))
        assert [one.job.id for one in workload.jobs] == sorted(one.job.id for one in workload.jobs)

    def test_shares_templates_between_equal_jobs(self, workload: Workload) -> None:
        templates = {id(one.job.template) for one in workload.jobs}
        assert len(templates) == len({one.job.template for one in workload.jobs}) < 4000

    def test_is_the_same_unpacked(self, workload: Workload, tmp_path: Path) -> None:
        plain = gzip.decompress((DATA / TRACE).read_bytes())
        assert read(tmp_path, plain, "rota_synth_256.swf") == workload


class TestColumns:
    def test_become_a_job(self) -> None:
        [one] = parse(
            job(
                7,
                submit_time=10,
                wait_time=5,
                run_time=60,
                requested_processors=4,
                allocated_processors=8,
                requested_time=300,
                user_id=12,
                group_id=3,
                queue_number=1,
            )
        ).jobs
        template = one.job.template
        assert (one.arrival_ms, one.waited_ms, one.run_ms) == (10_000, 5_000, 60_000)
        assert one.job.submitted_ms == one.arrival_ms
        assert template.task_count == template.min_count == 4
        assert template.groups[0].spec.requests.cpu_milli == 1000
        assert template.time_limit_ms == 300_000
        assert (template.user, template.project, template.queue) == ("user-12", "group-3", "queue-1")

    def test_that_are_unknown_are_left_open(self) -> None:
        [one] = parse(job()).jobs
        template = one.job.template
        assert (one.waited_ms, template.time_limit_ms) == (None, None)
        assert (template.user, template.project, template.queue) == ("default", "default", "default")

    def test_take_what_was_allocated_where_no_request_is_known(self) -> None:
        [one] = parse(job(requested_processors=-1, allocated_processors=3)).jobs
        assert one.job.template.task_count == 3

    def test_may_have_decimals_in_times(self) -> None:
        [one] = parse(job(submit_time="1.25", run_time="0.5")).jobs
        assert (one.arrival_ms, one.run_ms) == (1250, 500)

    def test_keep_the_order_of_equal_times_in_the_ids(self) -> None:
        assert [one.job.id for one in parse(job(9), job(10)).jobs] == ["09", "10"]

    def test_say_how_jobs_ended(self) -> None:
        workload = parse(
            *(job(number, status=status) for number, status in enumerate((1, 0, 5, -1), start=1))
        )
        assert [one.outcome.value for one in workload.jobs] == ["completed", "failed", "cancelled", "unknown"]

    @pytest.mark.parametrize("run_time", [-1, 0])
    def test_of_a_job_that_was_cancelled_before_it_ran(self, run_time: int) -> None:
        [one] = parse(job(status=5, run_time=run_time, wait_time=90)).jobs
        assert (one.run_ms, one.outcome, one.waited_ms) == (0, RecordedEnd.CANCELLED, 90_000)
        assert one.cancelled_waiting

    def test_of_a_job_that_takes_no_time(self) -> None:
        [one] = parse(job(run_time=0)).jobs
        assert one.run_ms == 0
        assert not one.cancelled_waiting


class TestWhatIsLeftOut:
    def test_is_counted_so_that_every_line_is_accounted_for(self) -> None:
        workload = parse(
            job(1),
            job(1, status=2),
            job(1, status=3),
            job(2, run_time=-1),
            job(3, requested_processors=-1),
            job(4, requested_processors=0),
        )
        assert len(workload.jobs) == 1
        assert left_out(workload, "checkpointed").count == 2
        assert left_out(workload, "checkpointed").first_line == 2
        assert left_out(workload, "run time is unknown").count == 1
        assert left_out(workload, "size is unknown").count == 2

    def test_is_said_of_what_is_not_modelled(self) -> None:
        workload = parse(
            "; MaxProcs: 4", job(1, requested_memory=512, partition_number=1), job(2, preceding_job=1)
        )
        assert len(workload.jobs) == 2
        assert [note.first_line for note in workload.notes] == [2, 2, 3]
        workload = parse(job(requested_time=0))
        assert workload.jobs[0].job.template.time_limit_ms is None
        assert left_out(workload, "no limit").count == 1


@pytest.mark.slow
class TestTheMachine:
    HEADER = "; MaxProcs: 10"

    def test_is_as_large_as_the_header_says(self) -> None:
        workload = parse(self.HEADER, "; UnixStartTime: 1000", job())
        assert [node.spec.capacity.cpu_milli for node in workload.nodes] == [1000] * 10
        assert workload.epoch_ms == 1_000_000

    def test_is_as_large_as_the_caller_says(self) -> None:
        workload = parse(self.HEADER, job(), processors=20, processors_per_node=8)
        assert [node.spec.capacity.cpu_milli for node in workload.nodes] == [8000, 8000, 4000]

    def test_is_as_large_as_the_largest_job_if_nobody_says(self) -> None:
        workload = parse(job(1), job(2, requested_processors=6))
        assert len(workload.nodes) == 6
        assert "6" in left_out(workload, "largest job").reason

    def test_can_be_one_node_with_one_task_a_job(self) -> None:
        workload = parse(self.HEADER, job(), tasks="whole")
        [node] = workload.nodes
        [group] = workload.jobs[0].job.template.groups
        assert (node.spec.capacity.cpu_milli, node.spec.capacity.slots) == (10_000, 10)
        assert (group.spec.requests.cpu_milli, group.count) == (4000, 1)

    def test_can_be_whole_nodes_and_a_rest(self) -> None:
        workload = parse(
            self.HEADER, job(requested_processors=7), job(2), tasks="whole", processors_per_node=2
        )
        asked = [[(g.count, g.spec.requests.cpu_milli) for g in j.job.template.groups] for j in workload.jobs]
        assert asked == [[(3, 2000), (1, 1000)], [(2, 2000)]]

    def test_has_slots_for_as_many_tasks_as_processors(self) -> None:
        [node] = parse("; MaxProcs: 500", job(), processors_per_node=500).nodes
        assert node.spec.capacity.slots == 500

    @pytest.mark.parametrize("tasks", ["processors", "whole"])
    def test_offers_the_same_work_either_way(self, tasks: str) -> None:
        assert round(offered_load(read_data(TRACE, TraceOptions(tasks=tasks))), 3) == 0.851  # type: ignore[arg-type]


@pytest.mark.covers("ops-3")
class TestBadLines:
    @pytest.mark.parametrize(
        ("lines", "line", "column", "field", "words"),
        [
            ([job(), "2 10 -1 60"], 2, 11, "allocated_processors", "has 4 of 18 columns"),
            ([job() + " 9"], 1, len(job()) + 2, "", "19 columns"),
            ([job(), job(2, run_time="1h")], 2, 8, "run_time", "not a number"),
            ([job(run_time="nan")], 1, 8, "run_time", "not a number"),
            ([job(user_id="٣")], 1, 30, "user_id", "not a number"),
            ([job(submit_time=-5)], 1, 3, "submit_time", "negative"),
            ([job(submit_time=-1)], 1, 3, "submit_time", "unknown"),
            ([job(run_time=-7)], 1, 8, "run_time", "negative"),
            (
                [job(submit_time=10), job(2, submit_time=9)],
                2,
                3,
                "submit_time",
                "before the job above, at 10",
            ),
            ([job(), job(1)], 2, 1, "job_number", "on line 1 already"),
            ([job(-1)], 1, 1, "job_number", "not a job number"),
            ([job(status=7)], 1, 28, "status", "not a status"),
            ([job(requested_processors="2.5")], 1, 20, "requested_processors", "not a number of processors"),
            (["; MaxProcs: 2", job()], 2, 20, "requested_processors", "4 processors of a machine that has 2"),
            (["; MaxProcs: 9999999", job()], None, None, "", "too many nodes"),
            (["; MaxProcs: lots", job()], 1, 13, "MaxProcs", "not a whole number"),
            (["; MaxJobs: 3", job(), job(2)], 3, 1, "", "ends after 2 of the 3 jobs"),
            (["; MaxProcs: 2"], None, None, "", "has no jobs"),
        ],
    )
    def test_are_refused_with_line_and_column(
        self, lines: list[str], line: int | None, column: int | None, field: str, words: str
    ) -> None:
        with pytest.raises(InputError) as caught:
            parse(*lines)
        error = caught.value
        assert (error.line, error.column, error.field) == (line, column, field)
        assert words in error.problem

    def test_of_a_file_that_was_cut_off(self, tmp_path: Path) -> None:
        plain = gzip.decompress((DATA / TRACE).read_bytes())
        between_lines = plain[: plain.rindex(b"\n", 0, 300_000) + 1]
        assert "of the 10,000 jobs" in refusal(tmp_path, between_lines, "cut.swf").problem
        error = refusal(tmp_path, plain[:300_000], "cut.swf")
        assert error.line == plain[:300_000].count(b"\n") + 1
        assert "columns" in error.problem or "not a number" in error.problem

    def test_of_gzip_that_was_cut_off(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, (DATA / TRACE).read_bytes()[:60_000], "cut.swf.gz")
        assert "cut off" in error.problem
        assert error.line is not None
        assert 3000 < error.line < 7000

    @given(st.data())
    def test_never_end_in_anything_but_a_workload_or_an_error(self, data: st.DataObject) -> None:
        words = st.one_of(
            st.integers(-2, 300).map(str),
            st.sampled_from(
                ["", "-", "1e9", "9" * 30, "0.5", ";", "; MaxProcs: 3\n", "; MaxJobs:\n", "\n", "\0"]
            ),
            st.text(max_size=3),
        )
        text = "\n".join(
            " ".join(data.draw(st.lists(words, min_size=17, max_size=19)))
            for _ in range(data.draw(st.integers(0, 3)))
        )
        with suppress(InputError):
            workload = swf_from(text, "any.swf")
            assert len(by_id(workload)) == len(workload.jobs)
