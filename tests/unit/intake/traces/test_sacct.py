"""`sacct -P`: what the columns become, and what is wrong with lines."""

from contextlib import suppress
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.intake.errors import InputError
from rota.intake.traces.files import TraceOptions
from rota.intake.traces.sacct import sacct_from
from rota.model.workload import RecordedEnd, SimJob, Workload
from tests.unit.intake.traces.reading import by_id, left_out, read_data

HEADER = "JobID|User|Account|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|ReqTRES|State"
COLUMNS = HEADER.split("|")


def job(job_id: str = "1", **columns: str) -> str:
    values = dict.fromkeys(COLUMNS, "")
    values |= {"JobID": job_id, "Submit": "1970-01-01T00:00:00", "ElapsedRaw": "60"}
    values |= {"NCPUS": "4", "State": "COMPLETED"}
    return "|".join((values | columns).values())


def parse(*lines: str) -> Workload:
    return sacct_from("\n".join((HEADER, *lines)) + "\n", "jobs.txt")


def parse_one(**columns: str) -> SimJob:
    [one] = parse(job(**columns)).jobs
    return one


def asked(one: SimJob) -> list[tuple[int, int, int, int]]:
    """Of each group: tasks, CPUs, GiB of memory, GPUs."""
    return [
        (group.count, spec.requests.cpu_milli // 1000, spec.requests.memory_bytes // 2**30, spec.gpu.count)
        for group in one.job.template.groups
        for spec in [group.spec]
    ]


class TestAnExport:
    def test_is_sorted_by_submit_time_and_counts_from_the_first(self) -> None:
        workload = read_data("sacct.txt")
        assert [(one.job.id, one.arrival_ms // 1000) for one in workload.jobs] == [
            *(("100_1", 0), ("100_2", 0), ("100_3", 0)),
            *(("101", 60), ("102", 360), ("103", 480)),
        ]
        assert workload.epoch_ms == 1_714_564_740_000
        assert all(one.job.submitted_ms == one.arrival_ms for one in workload.jobs)

    def test_tells_run_times_waits_and_outcomes(self) -> None:
        jobs = by_id(read_data("sacct.txt"))
        facts = {name: (one.run_ms, one.waited_ms, one.outcome.value) for name, one in jobs.items()}
        assert facts == {
            "100_1": (30_000, 60_000, "failed"),
            "100_2": (3_600_000, 60_000, "timed-out"),
            "100_3": (0, 60_000, "completed"),
            "101": (7_205_000, 600_000, "completed"),
            "102": (0, 60_000, "cancelled"),
            "103": (60_000, 60_000, "failed"),
        }
        assert jobs["102"].cancelled_waiting

    def test_tells_limits_owners_and_quality_of_service(self) -> None:
        jobs = by_id(read_data("sacct.txt"))
        limits = {name: one.job.template.time_limit_ms for name, one in jobs.items()}
        assert limits == {
            "100_1": None,
            "100_2": 3_600_000,
            "100_3": None,
            "101": 86_400_000,
            "102": 1_800_000,
            "103": 1_800_000,
        }
        template = jobs["101"].job.template
        assert (template.user, template.project, template.queue) == ("ada", "vision", "gpu")
        assert template.labels == (("qos", "normal"),)

    def test_has_one_task_a_node(self) -> None:
        jobs = by_id(read_data("sacct.txt"))
        assert asked(jobs["101"]) == [(2, 8, 32, 4)]
        assert asked(jobs["103"]) == [(1, 4, 10, 0), (2, 3, 10, 0)]
        assert asked(jobs["102"]) == [(1, 1, 4, 1)]
        assert jobs["102"].job.template.groups[0].spec.gpu.models == ("a100",)

    def test_accounts_for_every_line(self) -> None:
        workload = read_data("sacct.txt")
        assert left_out(workload, "steps").count == 2
        assert left_out(workload, "still waited").count == 1
        assert left_out(workload, "still ran").count == 1
        assert len(workload.jobs) + sum(note.count for note in workload.notes) == 10

    def test_has_local_times(self) -> None:
        there = read_data("sacct.txt", TraceOptions(time_zone=ZoneInfo("Europe/Berlin")))
        assert read_data("sacct.txt").epoch_ms - there.epoch_ms == 2 * 3_600_000


class TestColumns:
    def test_share_templates_between_equal_jobs(self) -> None:
        one, other, third = parse(job("1"), job("2", ElapsedRaw="7"), job("3", NCPUS="5")).jobs
        assert one.job.template is other.job.template is not third.job.template

    def test_may_end_in_a_separator(self) -> None:
        [one] = sacct_from(f"{HEADER}|\r\n{job()}|\r\n", "jobs.txt").jobs
        assert one.run_ms == 60_000

    @pytest.mark.parametrize("job_id", ["12", "12_3", "12+1", "12_[3-9]", "12_[3,5-9%2]"])
    def test_job_ids(self, job_id: str) -> None:
        assert parse(job(job_id)).jobs[0].job.id == job_id

    def test_run_time_by_start_and_end(self) -> None:
        times = {"Start": "1970-01-01T00:01:00", "End": "1970-01-01T00:03:00"}
        assert parse_one(ElapsedRaw="", **times).run_ms == 120_000

    def test_run_time_that_nobody_knows(self) -> None:
        workload = parse(job("1"), job("2", ElapsedRaw=""))
        assert len(workload.jobs) == 1
        assert left_out(workload, "run time is unknown").first_line == 3

    def test_limit_in_minutes(self) -> None:
        assert parse_one(TimelimitRaw="90").job.template.time_limit_ms == 5_400_000
        assert parse_one(TimelimitRaw="UNLIMITED").job.template.time_limit_ms is None
        assert parse_one(TimelimitRaw="Partition_Limit").job.template.time_limit_ms is None

    def test_times_in_seconds_and_with_a_zone(self) -> None:
        assert parse(job(Submit="1714564740")).epoch_ms == 1_714_564_740_000
        assert parse(job(Submit="2024-05-01T13:59:00+02:00")).epoch_ms == 1_714_564_740_000

    def test_cpus_without_resources(self) -> None:
        assert asked(parse_one()) == [(1, 4, 0, 0)]

    def test_gpus_of_a_model_count_once(self) -> None:
        one = parse_one(ReqTRES="cpu=4,gres/gpu:a100=2,gres/gpu=2,node=2")
        assert asked(one) == [(2, 2, 0, 1)]
        assert one.job.template.groups[0].spec.gpu.models == ("a100",)

    @pytest.mark.parametrize(
        "state, outcome",
        [
            ("CANCELLED by 1000", RecordedEnd.CANCELLED),
            ("CANCELLED+", RecordedEnd.CANCELLED),
            ("NODE_FAIL", RecordedEnd.FAILED),
            ("PREEMPTED", RecordedEnd.UNKNOWN),
        ],
    )
    def test_states(self, state: str, outcome: RecordedEnd) -> None:
        assert parse_one(State=state).outcome is outcome


@pytest.mark.covers("ops-3")
class TestBadLines:
    @pytest.mark.parametrize(
        ("columns", "field", "words"),
        [
            ({"JobID": "twelve"}, "JobID", "not a job id"),
            ({"Submit": "Unknown"}, "Submit", "unknown"),
            ({"Submit": "yesterday"}, "Submit", "not a time"),
            ({"Submit": "1969-12-31T23:00:00"}, "Submit", "before 1970"),
            ({"Submit": "1970-01-01T01:00:00", "Start": "1970-01-01T00:00:00"}, "Start", "before Submit"),
            ({"Submit": "1970-01-01T01:00:00", "End": "1970-01-01T00:00:00"}, "End", "before Submit"),
            (
                {"ElapsedRaw": "", "Start": "1970-01-01T02:00:00", "End": "1970-01-01T01:00:00"},
                "End",
                "before Start",
            ),
            ({"ElapsedRaw": "-60"}, "ElapsedRaw", "not a whole number"),
            ({"TimelimitRaw": "an hour"}, "TimelimitRaw", "not a whole number"),
            ({"State": "ASLEEP"}, "State", "not a state"),
            ({"NNodes": "many"}, "NNodes", "not a whole number"),
            ({"NNodes": "999999999"}, "NNodes", "absurdly many"),
            ({"NCPUS": "0"}, "NCPUS", "the number of CPUs"),
            ({"NCPUS": ""}, "JobID", "the number of CPUs"),
            ({"ReqTRES": "cpu"}, "ReqTRES", "not a list of resources"),
            ({"ReqTRES": "cpu=2,mem=much"}, "ReqTRES", "not an amount"),
            ({"ReqTRES": "cpu=2,mem=99999999E"}, "ReqTRES", "absurdly large"),
            ({"ReqTRES": "cpu=2,gres/gpu=5000"}, "ReqTRES", "5000 GPUs"),
            ({"User": "a/b"}, "User", "slash"),
        ],
    )
    def test_are_refused_with_line_and_column(self, columns: dict[str, str], field: str, words: str) -> None:
        line = job(**{"job_id" if name == "JobID" else name: value for name, value in columns.items()})
        with pytest.raises(InputError) as caught:
            parse(job("999"), line)
        error = caught.value
        assert (error.line, error.field) == (3, field)
        before = line.split("|")[: COLUMNS.index(field)]
        assert error.column == len("|".join([*before, ""])) + 1
        assert words in error.problem

    def test_that_are_cut_off(self) -> None:
        with pytest.raises(InputError, match=r"cut off") as caught:
            parse(job("1"), "2|ada|vision|gpu|1970-01-01T00:0")
        assert (caught.value.line, caught.value.field) == (3, "Start")

    def test_with_too_many_columns(self) -> None:
        with pytest.raises(InputError, match=r"14 columns instead of 13"):
            parse(job() + "|")

    def test_of_one_job_twice(self) -> None:
        with pytest.raises(InputError, match=r"line 2 already; export without --duplicates"):
            parse(job("1"), job("1"))

    @pytest.mark.parametrize("missing", ["JobID", "Submit", "State"])
    def test_without_a_column_that_is_needed(self, missing: str) -> None:
        header = "|".join(column for column in COLUMNS if column != missing)
        with pytest.raises(InputError) as caught:
            sacct_from(f"{header}\n", "jobs.txt")
        assert (caught.value.line, caught.value.field) == (1, missing)

    @pytest.mark.parametrize(
        "header, words",
        [
            ("JobID|Submit|State|NCPUS", "the run time"),
            ("JobID|Submit|State|Elapsed", "the number of CPUs"),
            ("JobID|Submit|State|Elapsed|NCPUS|State", "twice"),
            ("JobID|Submit|State|Elapsed|NCPUS", "no jobs"),
        ],
    )
    def test_below_such_a_header(self, header: str, words: str) -> None:
        with pytest.raises(InputError, match=words):
            sacct_from(f"{header}\n", "jobs.txt")

    @given(st.data())
    def test_never_end_in_anything_but_a_workload_or_an_error(self, data: st.DataObject) -> None:
        words = st.one_of(
            st.sampled_from(
                [
                    "",
                    "1",
                    "-1",
                    "1_2",
                    "COMPLETED",
                    "RUNNING",
                    "Unknown",
                    "2024-05-01T12:00:00",
                    "01:02:03",
                    "cpu=4",
                ]
            ),
            st.text(max_size=4),
        )
        rows = data.draw(st.lists(st.lists(words, min_size=12, max_size=14), max_size=3))
        with suppress(InputError):
            workload = parse(*("|".join(row) for row in rows))
            assert len(by_id(workload)) == len(workload.jobs)
