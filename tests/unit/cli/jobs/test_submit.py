"""`rota submit`, and `rota plan` of what isn't submitted yet."""

from __future__ import annotations

import hashlib
import subprocess
from datetime import datetime
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from rota.api.questions import PlanAnswer, PlannedChange, PlannedJob
from rota.sdk.errors import BadInput, TooLarge
from tests.unit.cli.calling import rota, write
from tests.unit.cli.documents import NOW, a_job, later
from tests.unit.cli.fake_server import FakeServer

JOBS = (
    "jobs:\n  - {name: a, command: [make], resources: {cpu: 1, memory: 1Gi}}\n  - {name: b, command: [ls]}\n"
)


class TestCommand:
    def test_all_options(self, server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LANG", "C")
        result = rota(
            "submit", "--name", "x", "--cpus", "0.5", "--memory", "2Gi", "--gpus", "1", "--tasks", "4",
            "--time", "90m", "--queue", "q", "--project", "p", "--priority", "high", "--dir", "/srv",
            "--env", "A=1=2", "--env", "LANG", "--label", "team=red", "--after", "16", "--after", "15:any",
            "--array", "0-9", "--retries", "2", "--hold", "--clean", "--", "make", "-j4",
        )  # fmt: skip
        assert result.code == 0
        assert server.submitted == [
            {
                "name": "x",
                "command": ["make", "-j4"],
                "resources": {"cpu": "0.5", "memory": "2Gi"},
                "gpus": "1",
                "tasks": 4,
                "time_limit": "90m",
                "queue": "q",
                "project": "p",
                "priority": "high",
                "directory": "/srv",
                "environment": {"A": "1=2", "LANG": "C"},
                "labels": {"team": "red"},
                "depends_on": [{"job": "16", "after": "success"}, {"job": "15", "after": "any"}],
                "array": "0-9",
                "retry": 2,
                "hold": True,
            }
        ]

    def test_says_its_id(self, server: FakeServer) -> None:
        assert rota("submit", "--name", "x", "--", "true").out == "submitted 17 (x)\n"
        assert rota("submit", "-o", "name", "--", "true").out == "17\n"

    def test_takes_files_along(self, server: FakeServer, tmp_path: Path) -> None:
        script = tmp_path / "go.sh"
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
        rota("submit", "--file", f"{script}:bin/go", "--", "bin/go")
        assert server.uploaded == [b"#!/bin/sh\n"]
        assert server.submitted[0]["files"] == [
            {
                "path": "bin/go",
                "executable": True,
                "sha256": hashlib.sha256(b"#!/bin/sh\n").hexdigest(),
                "size": 10,
            }
        ]

    def test_a_context_may_have_a_project(
        self, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings = tmp_path / "rota.toml"
        settings.write_text("[client.contexts.lab]\nurl = 'https://rota.example.org'\nproject = 'vision'\n")
        monkeypatch.setenv("ROTA_CONFIG", str(settings))
        rota("--context", "lab", "submit", "--", "true")
        rota("--context", "lab", "submit", "--project", "own", "--", "true")
        rota("submit", "--", "true")
        assert [job.get("project") for job in server.submitted] == ["vision", "own", None]

    def test_dry_run(self, server: FakeServer) -> None:
        result = rota("submit", "--dry-run", "--name", "x", "--", "true")
        assert result.out == "would submit 17 (x)\n"
        assert "nothing was submitted" in result.err

    def test_warnings_of_the_server_are_passed_on(self, server: FakeServer) -> None:
        server.warnings = ["queue q is paused"]
        assert "rota: warning: queue q is paused\n" in rota("submit", "--", "true").err


class TestFile:
    def test_is_sent(self, server: FakeServer, tmp_path: Path) -> None:
        (path,) = write(tmp_path, jobs=JOBS)
        assert rota("submit", path, "-o", "name").lines == ["17", "18"]
        assert [job["name"] for job in server.submitted] == ["a", "b"]

    def test_options_go_first(self, server: FakeServer, tmp_path: Path) -> None:
        (path,) = write(tmp_path, jobs=JOBS)
        rota("submit", path, "--cpus", "3", "--queue", "q")
        assert server.submitted == [
            {"name": "a", "command": ["make"], "resources": {"cpu": "3", "memory": "1Gi"}, "queue": "q"},
            {"name": "b", "command": ["ls"], "resources": {"cpu": "3"}, "queue": "q"},
        ]

    def test_comes_through_standard_input_too(
        self, server: FakeServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(JOBS.encode())))
        assert rota("submit", "-", "-o", "name").lines == ["17", "18"]

    @pytest.mark.covers("ops-3")
    def test_errors_in_standard_input_name_the_line(
        self, server: FakeServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for raw, told in (
            (b"jobs:\n  - {command: [make], gpus: some}\n", "<stdin>:2: jobs[0].gpus: "),
            (b"#!/bin/sh\n#SBATCH --nodes=none\n", "<stdin>:2: --nodes: "),
            (b"#!/bin/sh\n\xff\n", "<stdin>:2: byte 0xff is not UTF-8 text"),
        ):
            monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(raw)))
            result = rota("submit", "-")
            assert (result.code, server.submitted) == (1, [])
            assert told in result.err

    @pytest.mark.covers("ops-3")
    def test_what_was_kept_of_many_is_told_and_what_was_not(self, server: FakeServer, tmp_path: Path) -> None:
        lines = "".join(f"  - {{name: n{at}, command: [ls]}}\n" for at in range(1001))
        (path,) = write(tmp_path, jobs=f"jobs:\n{lines}")
        server.refuses_after = 1, BadInput("there is no queue q", field="jobs[0].queue", status=422)
        result = rota("submit", path, "-o", "name")
        assert (result.code, len(result.lines), len(server.submitted)) == (1, 1000, 1000)
        assert result.err == (
            "rota: submitted: jobs[0] to jobs[999], as 17 to 1016; not submitted: jobs[1000]\n"
            "rota: jobs[1000].queue: there is no queue q\n"
        )

    @pytest.mark.covers("ops-3")
    def test_errors_name_the_line(self, server: FakeServer, tmp_path: Path) -> None:
        (path,) = write(tmp_path, jobs="jobs:\n  - command: [make]\n    resources: {cpu: much}\n")
        result = rota("submit", path)
        assert (result.code, server.submitted) == (1, [])
        assert result.err.startswith(f"rota: {path}:3: jobs[0].resources.cpu: ")


class TestScript:
    def test_its_lines_are_read_and_what_is_unknown_is_named(
        self, server: FakeServer, tmp_path: Path
    ) -> None:
        script = tmp_path / "sweep.sh"
        script.write_text("#!/bin/sh\n#SBATCH --cpus-per-task=2\n#SBATCH --colour=red\necho $1\n")
        result = rota("submit", str(script), "--queue", "q", "--", "first")
        assert result.code == 0
        (job,) = server.submitted
        assert (job["script"], job["args"], job["queue"]) == (script.read_text(), ["first"], "q")
        assert job["directory"] == str(Path.cwd())
        assert result.err.startswith(f"rota: warning: {script}: line 3: ")
        assert "--colour" in result.err

    def test_comes_through_standard_input_too(
        self, server: FakeServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = "#!/bin/sh\n#SBATCH --cpus-per-task=2\necho $1\n"
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
        assert rota("submit", "-", "--", "first").code == 0
        (job,) = server.submitted
        assert (job["name"], job["script"], job["args"]) == ("sbatch", text, ["first"])
        assert job["resources"] == {"cpu": 2}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give a file, or a command after --"),
        (("jobs.yaml", "--", "make"), "not both"),
        (("--after", "16:never", "--", "make"), "--after"),
        (("--label", "red", "--", "make"), "--label"),
        (("--file", "/nowhere/at/all", "--", "make"), "--file"),
        (("--memory", "-3", "--", "make"), "--memory"),
        (("--tasks", "0", "--", "make"), "--tasks"),
        (("no-such-file.yaml",), "no-such-file.yaml"),
    ],
)
@pytest.mark.covers("ops-3")
def test_bad_input(server: FakeServer, arguments: tuple[str, ...], told: str) -> None:
    result = rota("submit", *arguments)
    assert (result.code, result.out, server.submitted) == (1, "", [])
    assert told in result.err
    assert "Traceback" not in result.err


def test_what_the_server_refuses_is_told(server: FakeServer) -> None:
    server.refusal = BadInput("there is no queue q", field="jobs[0].queue", help="name one of: default")
    result = rota("submit", "--queue", "q", "--", "x")
    assert (result.code, result.out) == (1, "")
    assert result.err == "rota: jobs[0].queue: there is no queue q; name one of: default\n"


class TestPlan:
    def planned(self, starts: datetime | None) -> PlannedJob:
        return PlannedJob(index=0, starts=starts, promised=False, nodes=["n1"], reasons=["cpu is short"])

    def test_what_starts_now(self, server: FakeServer) -> None:
        server.plan_answer = PlanAnswer(jobs=[self.planned(NOW)], changes=[])
        result = rota("plan", "--clean", "--cpus", "2", "--", "make")
        assert result.code == 0
        assert result.lines[2].split() == ["make", "now", "n1", "cpu", "is", "short"]
        assert server.submitted == [{"command": ["make"], "resources": {"cpu": "2"}}]

    def test_what_waits_and_whose_starts_change(self, server: FakeServer) -> None:
        change = PlannedChange(job="12", before=later(60), after=later(3600))
        server.plan_answer = PlanAnswer(jobs=[self.planned(later(600))], changes=[change])
        result = rota("plan", "--", "make")
        assert result.code == 2
        assert "12:10, in 10 min" in result.lines[2]
        assert result.lines[-1].split() == ["12", "12:01", "13:00"]

    @pytest.mark.covers("first-4")
    def test_elements_of_an_array_that_fare_alike_are_one_row(self, server: FakeServer) -> None:
        elements = [
            PlannedJob(
                index=at,
                starts=NOW if at < 3 else None,
                promised=False,
                nodes=["n1"] if at < 3 else [],
                reasons=[] if at < 3 else ["is held"],
                name="sweep",
                array_index=at,
                verdict=None if at < 3 else "not-now",
            )
            for at in range(6)
        ]
        never = PlannedJob(
            index=6, starts=None, promised=False, nodes=[], reasons=["no"], name="big", verdict="never"
        )
        server.plan_answer = PlanAnswer(jobs=[*elements, never], changes=[])
        result = rota("plan", "--array", "6", "--", "make")
        assert [line.split() for line in result.lines[2:]] == [
            ["sweep.[0-2]", "now", "n1", "×3"],
            ["sweep.[3-5]", "no", "planned", "start", "is", "held"],
            ["big", "never", "no"],
        ]

    def test_two_words_of_a_command_are_no_files(self, server: FakeServer) -> None:
        server.plan_answer = PlanAnswer(jobs=[self.planned(NOW)], changes=[])
        rota("plan", "--clean", "--", "make", "all")
        assert server.submitted == [{"command": ["make", "all"]}]


class TestAfter:
    def test_takes_names(self, server: FakeServer) -> None:
        server.has(a_job("16", name="build"))
        rota("submit", "--clean", "--after", "build", "--after", "12:any", "--", "true")
        waits_for: Any = server.submitted[0]["depends_on"]
        assert [one["job"] for one in waits_for] == ["16", "12"]

    def test_of_jobs_that_there_are(self, server: FakeServer) -> None:
        result = rota("submit", "--after", "nothing", "--", "true")
        assert (result.code, server.submitted) == (3, [])
        assert 'there is no job named "nothing"' in result.err


@pytest.mark.covers("first-1")
class TestFilesInAndOut:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "src").mkdir()
        (tmp_path / "src/a.txt").write_text("a")
        monkeypatch.chdir(tmp_path)

    @pytest.mark.parametrize(
        ("given", "path"),
        [
            ("src", "src"),
            ("src/", "src"),
            ("src:lib", "lib"),
            ("src=lib/x", "lib/x"),
            ("src:.", "."),
            (".", "."),
        ],
    )
    def test_folders(self, server: FakeServer, given: str, path: str) -> None:
        assert rota("submit", "--file", given, "--", "make").code == 0
        [data] = server.uploaded
        digest = hashlib.sha256(data).hexdigest()
        assert server.submitted[0]["files"] == [
            {"path": path, "unpack": True, "sha256": digest, "size": len(data)}
        ]
        assert "directory" not in server.submitted[0]

    def test_a_name_with_an_equals_sign(self, server: FakeServer, tmp_path: Path) -> None:
        (tmp_path / "a=b:c").write_text("x")
        rota("submit", "--file", "a=b:c", "--", "make")
        job: Any = server.submitted[0]
        assert job["files"][0]["path"] == "a=b:c"

    def test_a_checkout_and_files(self, server: FakeServer, tmp_path: Path) -> None:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        (tmp_path / "x").write_text("x")
        assert rota("submit", "--git", "--file", "x:y", "--", "make").code == 0
        job: Any = server.submitted[0]
        assert [file["path"] for file in job["files"]] == [".", "y"]

    def test_a_commit_that_is_none(self, server: FakeServer, tmp_path: Path) -> None:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        result = rota("submit", "--git-ref", "v1", "--", "make")
        assert (result.code, server.submitted) == (1, [])
        assert '--git-ref: "v1" is no commit, branch or tag' in result.err

    def test_what_is_kept(self, server: FakeServer, tmp_path: Path) -> None:
        rota("submit", "--keep", "out/**", "--keep", "log.txt", "--", "make")
        (path,) = write(tmp_path, jobs="jobs:\n  - {command: [make], outputs: [a.csv]}\n")
        rota("submit", path, "--keep", "b.csv")
        assert [job["outputs"] for job in server.submitted] == [["out/**", "log.txt"], ["a.csv", "b.csv"]]
        result = rota("submit", "--keep", "../x", "--", "make")
        assert result.code == 1
        assert "--keep" in result.err

    def test_more_than_the_server_takes(self, server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(_: bytes) -> str:
            raise TooLarge("the body has more than 4 bytes")

        monkeypatch.setattr(server, "upload", refuse)
        result = rota("submit", "--file", "src", "--", "make")
        assert (result.code, server.submitted) == (1, [])
        assert "src-" in result.err
        assert "server.limits.upload" in result.err
