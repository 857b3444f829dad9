"""Jobs that are to run, as they are submitted."""

import json
from typing import Any

import pytest

from rota.intake.errors import InputError
from rota.intake.submissions import MAX_ENTRIES, Entry, Submission, expand, read_submission
from rota.model.ids import JobId, QueueName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.resources import Resources
from rota.model.run import After, Dependency, InputFile, JobSpec, OnTaskFailure, Retry, Run
from rota.model.task import TaskSpec

SHA = "a" * 64
NINE_MS = 1_767_258_000_000


def submit(*jobs: Any) -> Submission:
    return read_submission(json.dumps({"jobs": jobs}).encode(), "vision", "ada")


def entry(**fields: Any) -> Entry:
    [only] = submit({"command": ["true"], **fields}).entries
    return only


def spec(**fields: Any) -> JobSpec:
    return entry(**fields).spec


def run(**fields: Any) -> Run:
    [only] = submit(fields).entries
    return only.spec.run


def error(*jobs: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        submit(*jobs)
    return caught.value


def refusal(**fields: Any) -> str:
    return str(error({"command": ["true"], **fields}))


def test_a_job_that_says_little() -> None:
    task = TaskSpec(left_open=("cpu", "memory", "gpu", "others"))
    template = JobTemplate((TaskGroup(task),), namespace="vision", project="vision", user="ada")
    assert entry() == Entry(JobSpec(template, Run(("true",)), "true"))


@pytest.mark.covers("job-2")
def test_a_job_with_every_field_of_a_run() -> None:
    found = entry(
        name="train",
        project="audio",
        user="bob",
        queue="nightly",
        resources={"cpu": 2},
        time_limit="1h",
        args=["--fast"],
        directory="/data",
        environment={"B": "2", "A": "1"},
        files=[{"path": "./in/x", "sha256": SHA, "size": 0, "executable": True, "unpack": True}],
        outputs=["b", "a", "./a"],
        warn={"signal": "usr1", "before": "2m"},
        grace=0,
        slurm_names=True,
        retry={"limit": 3, "backoff": 5, "max_backoff": "1m", "exit_codes": [9, 2]},
        on_task_failure="continue",
        depends_on=["17", 18, {"job": "19.4", "after": "failure"}],
        hold=True,
        start_after="2026-01-01T09:00:00Z",
        start_before="2026-01-01T10:00:00Z",
        deadline="2026-01-01T12:00:00Z",
        array="1-3",
    )
    task = TaskSpec(requests=Resources(cpu_milli=2000), left_open=("memory", "gpu", "others"))
    assert found == Entry(
        JobSpec(
            JobTemplate(
                (TaskGroup(task),),
                namespace="audio",
                project="audio",
                user="bob",
                queue=QueueName("nightly"),
                time_limit_ms=3_600_000,
            ),
            Run(
                command=("true", "--fast"),
                directory="/data",
                environment=(("A", "1"), ("B", "2")),
                files=(InputFile("in/x", SHA, 0, executable=True, unpack=True),),
                outputs=("a", "b"),
                warn_signal="SIGUSR1",
                warn_before_ms=120_000,
                grace_ms=0,
                slurm_names=True,
            ),
            name="train",
            retry=Retry(3, 5000, 60_000, (2, 9)),
            on_task_failure=OnTaskFailure.CONTINUE,
            depends_on=(
                Dependency(JobId("17")),
                Dependency(JobId("18")),
                Dependency(JobId("19.4"), After.FAILURE),
            ),
            held=True,
            start_after_ms=NINE_MS,
            start_before_ms=NINE_MS + 3_600_000,
            deadline_ms=NINE_MS + 3 * 3_600_000,
        ),
        array=(1, 2, 3),
    )


def test_equal_jobs_share_their_template_and_their_run() -> None:
    entries = submit(
        {"name": "a", "command": ["x"], "resources": {"cpu": 1, "memory": "1Gi"}},
        {"name": "b", "resources": {"memory": "1024Mi", "cpu": "1000m"}, "command": "x"},
    ).entries
    assert entries[0].spec.template is entries[1].spec.template
    assert entries[0].spec.run is entries[1].spec.run


class TestWhatRuns:
    def test_a_string_is_split_as_a_shell_would_without_expansion(self) -> None:
        words = ("sh", "-c", "echo $HOME *", "a b")
        assert run(command="sh -c 'echo $HOME *' a\\ b").command == words

    def test_a_script_and_its_arguments(self) -> None:
        assert run(script="#!/bin/sh\ndate\n", args=["1"]) == Run(command=("1",), script="#!/bin/sh\ndate\n")

    def test_what_only_a_shell_understands_is_warned_of(self) -> None:
        assert submit({"command": "a | b"}).warnings == (
            'jobs[0].command: "|" is passed to the program unchanged; use script for shell syntax',
        )
        assert submit({"command": ["a", "|", "b"]}).warnings == ()

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (
                {"name": "j"},
                "jobs[0]: the job has neither a command nor a script; give it a command or a script",
            ),
            ({"command": ["a"], "script": "b"}, "jobs[0].command: a job has either a command or a script;"),
            ({"command": []}, "jobs[0].command: names no program;"),
            ({"command": ["", "x"]}, "jobs[0].command: names no program;"),
            ({"command": "say 'it"}, "jobs[0].command: a quotation mark"),
            ({"command": ["a\0"]}, "jobs[0].command[0]: contains a null character"),
            ({"script": " \n"}, "jobs[0].script: is empty"),
            ({"command": ["a"], "args": ["\0"]}, "jobs[0].args[0]: contains a null character"),
            ({"command": 7}, "jobs[0].command: expected text or a list, got the number 7"),
        ],
    )
    def test_refused(self, fields: dict[str, Any], message: str) -> None:
        assert str(error(fields)).startswith(message)

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"directory": "data"}, 'jobs[0].directory: "data" is a relative path;'),
            ({"environment": {"1A": "x"}}, 'jobs[0].environment["1A"]: "1A" is not a name of a variable'),
            ({"environment": {"A": 1}}, "jobs[0].environment.A: expected text, got the number 1; put it in"),
            ({"environment": {"A": "\0"}}, "jobs[0].environment.A: contains a null character"),
            ({"outputs": ["../x"]}, 'jobs[0].outputs[0]: "../x" is not a path within'),
            ({"image": "a b"}, 'jobs[0].image: "a b" is not the name of an image; write it like python:3.12'),
            ({"outputs": ["."]}, 'jobs[0].outputs[0]: "." is not a path within'),
            ({"files": [{"path": "/x"}]}, 'jobs[0].files[0].path: "/x" is not a path within'),
            ({"files": [{"path": "x"}]}, "jobs[0].files[0].sha256: is missing"),
            ({"files": [{"path": "x", "sha256": SHA}]}, "jobs[0].files[0].size: is missing"),
            (
                {"files": [{"path": "x", "sha256": "A" * 64, "size": 1}]},
                'jobs[0].files[0].sha256: "AAAA',
            ),
            ({"files": [{"path": "x", "from": "y"}]}, "jobs[0].files[0].from: a server can't read files"),
            (
                {"files": [{"path": path, "sha256": SHA, "size": 1} for path in ("x", "./x")]},
                'jobs[0].files[1].path: "x" is there already',
            ),
            ({"warn": {"before": 60}}, "jobs[0].warn: there is no time limit to warn of"),
            ({"warn": {"before": 60}, "time_limit": 60}, "jobs[0].warn.before: its time limit is 1m"),
            ({"warn": {"before": 0}, "time_limit": 60}, "jobs[0].warn.before: the duration is 0"),
            ({"warn": {"signal": "USR3", "before": 1}, "time_limit": 9}, "jobs[0].warn.signal: there is no"),
            ({"warn": {"signal": 9, "before": 1}, "time_limit": 9}, "jobs[0].warn.signal: no program can"),
            (
                {"warn": {"signal": "9" * 99, "before": 1}, "time_limit": 9},
                "jobs[0].warn.signal: there is no",
            ),
            (
                {"grace": "2h"},
                "jobs[0].grace: other jobs would wait that long for its resources; give at most 1h",
            ),
            ({"retry": {"backoff": 1}}, "jobs[0].retry.limit: is missing"),
            ({"retry": {"limit": 1, "backoff": "2h"}}, "jobs[0].retry.backoff: the first pause, 2h,"),
            ({"array": 2**70}, "jobs[0].array: has too many elements; give at most 100,000"),
            ({"retry": 1001}, "jobs[0].retry: 1,001 retries are too many"),
            ({"retry": {"limit": 10**6}}, "jobs[0].retry.limit: 1,000,000 retries are too many"),
            ({"retry": {"limit": 1, "exit_codes": [0]}}, "jobs[0].retry.exit_codes[0]: the number 0 is out"),
            ({"on_task_failure": "fial-job"}, 'jobs[0].on_task_failure: unknown value "fial-job"; did you'),
            ({"deadline": 1800, "time_limit": "1h"}, "jobs[0].deadline: by its time_limit it may run until"),
            ({"start_after": 20, "start_before": 10}, "jobs[0].start_before: is before start_after"),
            ({"name": "a b"}, 'jobs[0].name: the name "a b" has spaces'),
            ({"resources": {"cpu": "two"}}, 'jobs[0].resources.cpu: "two" is not an amount of CPU; write'),
            ({"comand": []}, 'jobs[0].comand: unknown field; did you mean "command"?'),
        ],
    )
    @pytest.mark.covers("ops-3")
    def test_other_fields_refused(self, fields: dict[str, Any], message: str) -> None:
        assert refusal(**fields).startswith(message)

    @pytest.mark.parametrize("signal", ["SIGUSR2", "usr2", 12, "12"])
    def test_a_signal_by_name_or_number(self, signal: str | int) -> None:
        found = spec(warn={"signal": signal, "before": 1}, time_limit=9).run
        assert found.warn_signal == "SIGUSR2"

    @pytest.mark.parametrize(
        ("command", "name"),
        [("/usr/bin/python3 x", "python3"), ("'./my tool'", "my-tool"), ("/", "job"), ("ü", "job")],
    )
    def test_a_name_from_the_command(self, command: str, name: str) -> None:
        [found] = submit({"command": command}).entries
        assert found.spec.name == name

    def test_a_retry_may_be_just_a_number(self) -> None:
        assert spec(retry=2).retry == Retry(2)


class TestArrays:
    @pytest.mark.parametrize(
        ("form", "indexes"),
        [
            ("0-3", (0, 1, 2, 3)),
            ("1-10:4", (1, 5, 9)),
            ("9,1, 5", (1, 5, 9)),
            ("7", (7,)),
            ("0-1,8-9", (0, 1, 8, 9)),
            (3, (0, 1, 2)),
        ],
    )
    def test_indexes(self, form: str | int, indexes: tuple[int, ...]) -> None:
        assert entry(array=form).array == indexes

    @pytest.mark.parametrize(
        ("form", "message"),
        [
            ("", '"" is neither an index'),
            ("a-b", '"a-b" is neither an index'),
            ("5-1", 'the range "5-1" ends before it begins; write 1-5'),
            ("1-5:0", 'the range "1-5:0" makes no steps'),
            ("1,1", "the index 1 is there twice"),
            ("1-5%0", '"0" can\'t be how many run at once; write a number from 1 on, as in "0-99%4"'),
            ("1-5%", '"" can\'t be how many run at once; write a number from 1 on, as in "0-99%4"'),
            ("1-5%two", '"two" can\'t be how many run at once; write a number from 1 on, as in "0-99%4"'),
            (0, "an array without elements"),
            (100_001, "has 100,001 elements or more; give at most 100,000"),
            ("0-99999,200000-299999", "has 200,000 elements"),
            ("1000000000", "the index 1000000000 is too large"),
        ],
    )
    def test_refused(self, form: str | int, message: str) -> None:
        assert refusal(array=form).startswith(f"jobs[0].array: {message}")

    def test_all_arrays_together_have_a_limit(self) -> None:
        array = {"command": ["a"], "array": 60_000}
        assert str(error(array, array)).startswith("jobs[1]: with this there are more than 100,000 jobs")

    def test_each_element_is_a_job(self) -> None:
        submission = submit({"command": ["a"]}, {"command": ["b"], "array": "4,6"}, {"command": ["c"]})
        found = [
            (one.spec.run.command[0], one.spec.array_index, one.entry, one.is_element)
            for one in expand(submission, 17)
        ]
        assert found == [("a", None, 0, False), ("b", 4, 1, True), ("b", 6, 1, True), ("c", None, 2, False)]
        assert submission.job_count == 4


class TestOtherJobs:
    def test_of_the_same_submission_are_found_by_name(self) -> None:
        submission = submit(
            {"name": "prepare", "command": ["a"], "array": 5},
            {"name": "train", "command": ["b"], "depends_on": ["prepare", "9"]},
            {"command": ["c"], "depends_on": [{"job": "train", "after": "any"}], "connect_to": "train"},
        )
        jobs = expand(submission, 20)
        assert jobs[5].spec.depends_on == (Dependency(JobId("9")), Dependency(JobId("20")))
        assert jobs[6].spec.depends_on == (Dependency(JobId("25"), After.ANY),)
        assert jobs[6].spec.template.connect_to == "25"

    def test_a_partner_that_was_submitted_before_is_named_by_its_number(self) -> None:
        assert entry(connect_to="17").spec.template.connect_to == "17"

    def test_an_unknown_name(self) -> None:
        message = str(error({"name": "prepare", "command": "a"}, {"command": "b", "depends_on": ["preparr"]}))
        assert message.startswith(
            'jobs[1].depends_on[0]: there is no job named "preparr"; did you mean "prep'
        )

    def test_one_that_comes_later(self) -> None:
        message = str(error({"command": "b", "depends_on": ["z"]}, {"name": "z", "command": "a"}))
        assert "name a job above this one" in message

    def test_a_name_that_several_bear(self) -> None:
        twice = {"name": "x", "command": "a"}
        message = str(error(twice, twice, {"command": "b", "depends_on": ["x"]}))
        assert message.startswith('jobs[2].depends_on[0]: several jobs of this submission are named "x"')

    def test_a_name_that_is_a_number(self) -> None:
        message = str(error({"name": "17", "command": "a"}, {"command": "b", "depends_on": [17]}))
        assert message.startswith('jobs[1].depends_on[0]: "17" is both a job\'s number and the name of one')

    def test_the_same_twice(self) -> None:
        assert spec(depends_on=["17", 17]).depends_on == (Dependency(JobId("17")),)
        assert "is there already, after another end" in refusal(
            depends_on=["17", {"job": "17", "after": "any"}]
        )


class TestWholeBodies:
    @pytest.mark.parametrize(
        "field", ["running_on", "started", "submitted", "retries", "preempted_by", "done", "promised"]
    )
    def test_how_a_cluster_stands_is_no_part_of_it(self, field: str) -> None:
        assert refusal(**{field: 1}) == (
            f"jobs[0].{field}: is for running jobs, and this job has not started yet; remove it"
        )

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"", "not valid JSON"),
            (b"{", "not valid JSON"),
            (b"\xff", "byte 0 is not UTF-8"),
            (b"[]", "expected a mapping with `jobs`"),
            (b"{}", "jobs: is missing"),
            (b'{"jobs": []}', "jobs: no jobs"),
            (b'{"jobs": 1}', "jobs: expected a list"),
            (b'{"jobs": [1]}', "jobs[0]: expected a mapping"),
            (b'{"jobs": [{"command": "a", "command": "b"}]}', "a key is there twice"),
            (
                b'{"jobs": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
                "a key is there twice in one object, or it",
            ),
        ],
    )
    def test_that_are_no_submission(self, body: bytes, message: str) -> None:
        with pytest.raises(InputError) as caught:
            read_submission(body, "p", "u")
        assert str(caught.value).startswith(message)

    def test_too_many_jobs(self) -> None:
        jobs = [{"command": "a"}] * (MAX_ENTRIES + 1)
        assert str(error(*jobs)).startswith("jobs: 10,001 jobs at once; give at most 10,000, or an array")

    def test_too_many_tasks(self) -> None:
        many = {"command": "a", "tasks": 1_000_000}
        assert str(error(many, {"command": "a"})).startswith("jobs[1]: with this job there are more than")

    def test_all_that_is_wrong_is_named(self) -> None:
        bad = error({"name": "x"}, {"command": "a"}, {"command": "a", "depends_on": ["x"], "grace": -1})
        assert [one.field for one in bad.all] == ["jobs[0]", "jobs[2].grace"]

    def test_an_error_has_the_field_and_what_to_do_as_data(self) -> None:
        bad = error({"command": "a", "resources": {"cpu": "-1"}})
        assert (bad.field, bad.problem, bad.remedy) == (
            "jobs[0].resources.cpu",
            'negative amount "-1"',
            "give 0 or more",
        )
