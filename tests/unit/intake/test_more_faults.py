"""All that is wrong with the values of a job is told in one go."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rota.intake.documents.document import parse_documents
from rota.intake.errors import InputError
from rota.intake.jobs import JobReader
from rota.intake.submissions import read_submission
from tests.unit.cli.calling import rota

WRONG: dict[str, Any] = {
    "name": "two words",
    "command": ["true"],
    "resources": {"cpu": "many", "memory": "big", "storage": "1Gi"},
    "gpus": "some",
    "time_limit": "soon",
}
FIELDS = ["gpus", "name", "resources.cpu", "resources.memory", "time_limit"]


def faults(*jobs: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as refused:
        read_submission(msgspec.json.encode({"jobs": jobs}), "default", "ada")
    return sorted(error.field for error in refused.value.all)


@pytest.mark.covers("first-6")
class TestAllAtOnce:
    def test_of_one_job(self) -> None:
        assert faults(WRONG) == [f"jobs[0].{field}" for field in FIELDS]

    def test_of_each_job(self) -> None:
        assert faults(
            WRONG, {"command": ["true"]}, {"command": ["true"], "time_limit": -3, "grace": "2d"}
        ) == [
            *(f"jobs[0].{field}" for field in FIELDS),
            "jobs[2].grace",
            "jobs[2].time_limit",
        ]

    def test_nothing_is_told_that_follows_from_something_else(self) -> None:
        job = {
            "command": [""],
            "time_limit": "soon",
            "warn": {"before": "1m", "signal": "SIGUSR1"},
            "directory": "here",
            "stdout": "out.txt",
        }
        assert faults(job) == ["jobs[0].command", "jobs[0].directory", "jobs[0].time_limit"]

    def test_of_a_list_the_first_that_is_wrong(self) -> None:
        job = {"command": ["true"], "outputs": ["a", "../b", "/c"], "time_limit": "soon"}
        assert faults(job) == ["jobs[0].outputs[1]", "jobs[0].time_limit"]

    def test_who_names_one_that_is_wrong_is_not_wrong(self) -> None:
        first = {"name": "first", "command": ["true"], "time_limit": "soon"}
        then = {"command": ["true"], "depends_on": ["first"], "resources": {"cpu": "many"}}
        assert faults(first, then) == ["jobs[0].time_limit", "jobs[1].resources.cpu"]

    def test_what_is_no_field_ends_it(self) -> None:
        assert faults({"name": "idle"}) == ["jobs[0]"]

    def test_there_is_an_end(self) -> None:
        job = {"command": ["true"], "resources": {f"bad{number}": 1 for number in range(50)}}
        assert len(faults(job)) == 20

    def test_of_jobs_of_a_cluster_with_their_lines(self) -> None:
        text = b"jobs:\n- name: a b\n  resources:\n    cpu: many\n    memory: big\n  time_limit: soon\n"
        [document] = parse_documents(text, "jobs.yaml")
        with pytest.raises(InputError) as refused:
            JobReader({}).read_document(document)
        assert sorted((error.field, error.line) for error in refused.value.all) == [
            ("jobs[0].name", 2),
            ("jobs[0].resources.cpu", 4),
            ("jobs[0].resources.memory", 5),
            ("jobs[0].time_limit", 6),
        ]

    def test_of_options(self) -> None:
        told = rota("submit", "--cpus", "many", "--time", "soon", "--", "true")
        assert told.code == 1
        first, second = told.err.splitlines()
        assert first.startswith("rota: Invalid value for --cpus: ")
        assert second.startswith("rota: Invalid value for --time: ")
