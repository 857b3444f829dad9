"""Commands run where one stands, with the environment that one has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rota.machine_facts import folder_label
from tests.unit.cli.calling import rota
from tests.unit.cli.fake_server import FakeServer

pytestmark = pytest.mark.covers("first-1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that one stands in, with an environment of three variables."""
    for name in list(os.environ):
        if name not in ("XDG_CONFIG_HOME", "TZ"):
            monkeypatch.delenv(name)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FOO", "bar")
    return folder


OF_TESTS = ("XDG_CONFIG_HOME", "PYTEST_CURRENT_TEST")
TAKEN = {"FOO": "bar", "TZ": "UTC"}


def environment_of(job: object) -> dict[str, str]:
    assert isinstance(job, dict)
    return {name: value for name, value in job["environment"].items() if name not in OF_TESTS}


def test_a_command_runs_here(server: FakeServer, here: Path) -> None:
    rota("submit", "--", "make", "-j4")
    [job] = server.submitted
    assert job["directory"] == str(here)
    assert environment_of(job) == TAKEN
    assert job["node_selector"] == dict([folder_label(str(here))])


def test_clean_takes_nothing_along(server: FakeServer, here: Path) -> None:
    rota("submit", "--clean", "--env", "A=1", "--", "make")
    assert server.submitted == [{"command": ["make"], "environment": {"A": "1"}}]


def test_an_image_takes_nothing_along_but_what_is_named(server: FakeServer, here: Path) -> None:
    rota("submit", "--image", "python:3.12", "--env", "A=1", "--dir", "/data", "--", "make")
    assert server.submitted == [
        {"command": ["make"], "image": "python:3.12", "environment": {"A": "1"}, "directory": "/data"}
    ]


def test_secrets_of_rota_and_of_the_session_stay_here(
    server: FakeServer, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "ROTA_TOKEN", "ROTA_JOB_ID", "ROTA_TASK_REF", "SLURM_JOB_ID", "HOME", "PWD", "TMPDIR",
        "CUDA_VISIBLE_DEVICES",
    ):  # fmt: skip
        monkeypatch.setenv(name, "rota_secret")
    rota("submit", "--", "make")
    assert environment_of(server.submitted[0]) == TAKEN


def test_functions_of_the_shell_go_along_and_what_is_no_text_stays(
    server: FakeServer, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BASH_FUNC_module%%", "() { echo loaded; }")
    monkeypatch.setenv("npm.config", "x")
    monkeypatch.setenv("BYTES", os.fsdecode(b"\xff"))
    rota("submit", "--", "make")
    assert environment_of(server.submitted[0]) == {**TAKEN, "BASH_FUNC_module%%": "() { echo loaded; }"}


def test_what_options_say_goes_first(server: FakeServer, here: Path) -> None:
    (here / "vars").write_text("# comment\n\nFOO=file\nexport B='quoted = value'\nC=\n")
    rota("submit", "--env-from", "vars", "--env", "C=3", "--secret", "TZ=zone", "--", "make")
    [job] = server.submitted
    assert environment_of(job) == {"FOO": "file", "B": "quoted = value", "C": "3"}
    assert job["secrets"] == {"TZ": "zone"}


@pytest.mark.parametrize(
    ("text", "told"), [(None, "can't be read: No such file"), ("A=1\nB\n", "vars:2: 'B' is no variable")]
)
def test_bad_files_of_variables(server: FakeServer, here: Path, text: str | None, told: str) -> None:
    if text is not None:
        (here / "vars").write_text(text)
    result = rota("submit", "--env-from", "vars", "--", "make")
    assert (result.code, server.submitted) == (1, [])
    assert "--env-from" in result.err
    assert told in result.err


def test_a_folder_beginning_here_is_one_of_this_machine(server: FakeServer, here: Path) -> None:
    (here / "sub").mkdir()
    rota("submit", "--dir", "sub", "--", "make")
    rota("submit", "--dir", ".", "--", "make")
    assert [job["directory"] for job in server.submitted] == [str(here / "sub"), str(here)]
    assert all(job["node_selector"] for job in server.submitted)


def test_a_whole_path_is_one_of_the_nodes(server: FakeServer, here: Path) -> None:
    rota("submit", "--dir", "/data", "--", "make")
    [job] = server.submitted
    assert (job["directory"], "node_selector" in job) == ("/data", False)
    assert environment_of(job) == TAKEN


def test_with_files_it_has_a_folder_of_its_own(server: FakeServer, here: Path) -> None:
    (here / "in.csv").write_text("1\n")
    rota("submit", "--file", "in.csv", "--", "make")
    [job] = server.submitted
    assert "directory" not in job
    assert "node_selector" not in job
    assert environment_of(job) == TAKEN


def test_job_files_say_where_they_run(server: FakeServer, here: Path) -> None:
    (here / "jobs.yaml").write_text("jobs: [{command: [make]}]\n")
    rota("submit", "jobs.yaml")
    rota("submit", "--dir", ".", "jobs.yaml")
    assert server.submitted == [{"command": ["make"]}, {"command": ["make"], "directory": str(here)}]


class TestScript:
    def submitted(
        self, server: FakeServer, here: Path, *lines: str, options: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        (here / "job.sh").write_text("\n".join(("#!/bin/sh", *lines, "make")))
        result = rota("submit", *options, "job.sh")
        assert result.code == 0, result.err
        [job] = server.submitted
        return dict(job)

    def test_runs_here(self, server: FakeServer, here: Path) -> None:
        job = self.submitted(server, here)
        assert job["directory"] == job["environment"]["SLURM_SUBMIT_DIR"] == str(here)
        assert environment_of(job).items() >= TAKEN.items()
        assert job["node_selector"] == dict([folder_label(str(here))])

    def test_but_not_if_it_is_to_be_clean(self, server: FakeServer, here: Path) -> None:
        job = self.submitted(server, here, options=("--clean",))
        assert "directory" not in job
        assert "FOO" not in job["environment"]

    @pytest.mark.parametrize(
        ("line", "taken"),
        [
            ("--export=ALL", TAKEN),
            ("--export=ALL,A=1", {**TAKEN, "A": "1"}),
            ("--export=NONE", {}),
            ("--export=FOO,A=1", {"FOO": "bar", "A": "1"}),
        ],
    )
    def test_export(self, server: FakeServer, here: Path, line: str, taken: dict[str, str]) -> None:
        found = environment_of(self.submitted(server, here, f"#SBATCH {line}"))
        assert {name: value for name, value in found.items() if not name.startswith("SLURM_SUBMIT")} == taken

    def test_a_folder_of_the_nodes(self, server: FakeServer, here: Path) -> None:
        job = self.submitted(server, here, "#SBATCH --chdir=/data")
        assert (job["directory"], "node_selector" in job) == ("/data", False)

    def test_words_behind_it_are_its_arguments(self, server: FakeServer, here: Path) -> None:
        (here / "job.sh").write_text("#!/bin/sh\nmake\n")
        assert rota("submit", "job.sh", "a", "--cpus", "2", "b", "--", "--fast").code == 0
        [job] = server.submitted
        assert (job["args"], job["resources"]) == (["a", "b", "--fast"], {"cpu": "2"})


class TestForgottenDashes:
    def test_of_run(self, server: FakeServer, here: Path) -> None:
        result = rota("run", "--cpus", "2", "make", "-j4", "a b")
        assert (result.code, server.submitted) == (1, [])
        assert "write `rota run --cpus 2 -- make -j4 'a b'`" in result.err

    def test_of_submit(self, server: FakeServer, here: Path) -> None:
        result = rota("submit", "make", "all")
        assert (result.code, server.submitted) == (1, [])
        assert 'there is no file "make"; a command stands after `--`: `-- make all`' in result.err
