"""`rota run`: a job from its submission to its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rota.api.jobs import JobDetail
from rota.cli.jobs import following as module
from rota.lifecycle.state import EndReason, Phase
from rota.model.causes import Cause
from rota.sdk.job_calls import LogChunk
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import NOW, a_job, an_attempt, an_estimate, detail, later, over, running
from tests.unit.cli.fake_server import Asked, FakeServer

SUCCEEDED = detail(over(Phase.SUCCEEDED), an_attempt())


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.cli.jobs.following.time.sleep", lambda seconds: None)


def chunk(data: bytes, *, stream: str = "out", rank: int = 0, fence: int = 1, at_s: float = 0) -> LogChunk:
    return LogChunk(rank, stream, later(at_s), data, fence)


def test_the_command_is_submitted_as_it_stands(server: FakeServer) -> None:
    server.has(SUCCEEDED)
    result = rota(
        "run", "--clean", "--cpus", "2", "--time", "1h", "--", "sh", "-c", "echo --cpus 3", "--", "x"
    )
    assert result.code == 0
    assert server.submitted == [
        {
            "command": ["sh", "-c", "echo --cpus 3", "--", "x"],
            "resources": {"cpu": "2"},
            "time_limit": "1h",
        }
    ]


def test_output_is_passed_on_byte_by_byte(server: FakeServer) -> None:
    server.has(detail(running()), SUCCEEDED)
    server.chunks = [[chunk(b"out\xff\x00"), chunk(b"err\n", stream="err"), chunk(b"end", at_s=0)]]
    result = rota("run", "--", "cat", "/dev/urandom")
    assert result.out.encode("utf-8", "surrogateescape") == b"out\xff\x00end"
    assert result.err.endswith("err\n")


def test_a_job_that_is_over_is_not_followed(server: FakeServer) -> None:
    server.has(detail(a_job()), SUCCEEDED)
    server.chunks = [[chunk(b"all of it")]]
    assert rota("run", "--", "x").out == "all of it"
    assert [query["follow"] for query in server.log_queries] == [False]


def test_one_that_runs_is(server: FakeServer) -> None:
    server.has(detail(running()), SUCCEEDED)
    assert rota("run", "--", "x").code == 0
    assert [query["follow"] for query in server.log_queries] == [True]


def test_the_server_waits_for_the_end_of_a_short_job(server: FakeServer) -> None:
    server.has(SUCCEEDED)
    assert rota("run", "--", "true").code == 0
    assert server.waits == ["over"]


def test_and_then_for_the_start(server: FakeServer) -> None:
    server.has(detail(a_job()), detail(a_job()), detail(running()), SUCCEEDED)
    assert rota("run", "--", "make").code == 0
    assert server.waits == ["over", "started", "started"]


def test_an_older_server_is_asked_again_and_again(server: FakeServer) -> None:
    server.waits = None
    server.has(detail(a_job()), detail(a_job()), detail(running()), SUCCEEDED)
    server.chunks = [[chunk(b"all of it")]]
    assert rota("run", "--", "make").out == "all of it"


def test_one_who_waits_is_told_why(server: FakeServer) -> None:
    waiting = a_job(cause=Cause.DEPENDENCY, waits_for=["16"], phase=Phase.CREATED)
    server.has(*([detail(waiting, estimate=an_estimate())] * 9), SUCCEEDED)
    result = rota("run", "--", "true")
    assert result.err.splitlines() == [
        "rota: submitted job 17 (job)",
        "rota: job 17 waiting, waits for 16",
    ]


def test_one_who_hardly_waits_is_told_nothing(server: FakeServer) -> None:
    server.has(detail(a_job()), detail(a_job()), SUCCEEDED)
    assert rota("run", "--", "true").err == "rota: submitted job 17 (job)\n"


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (detail(over(Phase.FAILED, cause=Cause.TASK_FAILED, exit_code=3), an_attempt(exit_code=3)), 3),
        (detail(over(Phase.TIMED_OUT, cause=Cause.TIME_LIMIT)), 124),
        (detail(over(Phase.CANCELLED, cause=Cause.BY_USER)), 125),
        (detail(over(Phase.FAILED, cause=Cause.DEPENDENCY_FAILED, started=None)), 125),
        (
            detail(
                over(Phase.FAILED, cause=Cause.TASK_FAILED),
                an_attempt(reason=EndReason.SIGNALLED, signal=11, exit_code=None),
            ),
            139,
        ),
        (
            detail(
                over(Phase.FAILED, cause=Cause.TASK_FAILED),
                an_attempt(reason=EndReason.OUT_OF_MEMORY, exit_code=None),
            ),
            137,
        ),
        (
            detail(
                over(Phase.FAILED, cause=Cause.TASK_FAILED),
                an_attempt(reason=EndReason.NOT_STARTED, exit_code=None, message="no such file"),
            ),
            125,
        ),
    ],
)
def test_its_status_is_the_jobs(server: FakeServer, end: JobDetail, code: int) -> None:
    server.has(end)
    assert rota("run", "--", "x").code == code


def test_a_failure_is_told(server: FakeServer) -> None:
    job = over(Phase.FAILED, cause=Cause.TASK_FAILED, tasks=2)
    killed = an_attempt(1, reason=EndReason.SIGNALLED, signal=11, exit_code=None)
    server.has(detail(job, killed))
    assert rota("run", "--", "x").err.endswith("rota: job 17 failed: killed by SIGSEGV of rank 1 on n1\n")


def test_what_a_retry_writes_comes_once(server: FakeServer) -> None:
    retry = a_job(cause=Cause.RETRY, attempt=2)
    server.has(detail(running()), detail(retry), detail(retry), detail(running(attempt=2)), SUCCEEDED)
    server.chunks = [
        [chunk(b"first ", fence=1)],
        [chunk(b"first ", fence=1), chunk(b"second", fence=2, at_s=1)],
    ]
    assert rota("run", "--", "x").out == "first second"
    assert [query["since"] for query in server.log_queries] == [None, NOW]


class TestCtrlC:
    @pytest.fixture
    def pressed(self, server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Each is what happens when the output is next waited for: a key, or nothing."""
        presses = ["^C"]

        class Interrupted:
            def __init__(self, source: object) -> None:
                pass

            def __iter__(self) -> Iterator[LogChunk]:
                if presses:
                    presses.pop()
                    raise KeyboardInterrupt
                return iter(())

        monkeypatch.setattr(module, "Background", Interrupted)
        return presses

    def answer(self, monkeypatch: pytest.MonkeyPatch, answer: module.Answer) -> None:
        monkeypatch.setattr(module, "_ask", lambda: answer)

    def test_cancels_where_nobody_can_be_asked(self, server: FakeServer, pressed: Any) -> None:
        server.has(detail(running()), detail(over(Phase.CANCELLED, cause=Cause.BY_USER)))
        assert rota("run", "--", "x").code == 125
        assert server.asked == [Asked("cancel", "17", {"message": "by Ctrl-C", "dry_run": False})]

    def test_or_detaches(self, server: FakeServer, pressed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answer(monkeypatch, module.Answer.DETACH)
        server.has(detail(running()))
        result = rota("run", "--", "x")
        assert (result.code, server.asked) == (0, [])
        assert "rota logs -f 17" in result.err

    def test_or_goes_on(self, server: FakeServer, pressed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answer(monkeypatch, module.Answer.GO_ON)
        server.has(detail(running()), SUCCEEDED)
        assert (rota("run", "--", "x").code, server.asked) == (0, [])

    def test_once_cancelled_the_next_leaves(self, server: FakeServer, pressed: list[str]) -> None:
        pressed.append("^C")
        server.has(detail(running()))
        result = rota("run", "--", "x")
        assert result.code == 130
        assert [one.verb for one in server.asked] == ["cancel"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--array", "3", "--", "x"),
        ("--cpus", "many", "--", "x"),
        ("--env", "ROTA_NOT_SET_HERE", "--", "x"),
    ],
)
@pytest.mark.covers("ops-3")
def test_bad_input_submits_nothing(server: FakeServer, arguments: tuple[str, ...]) -> None:
    result = rota("run", *arguments)
    assert (result.code, result.out, server.submitted) == (1, "", [])
    assert result.err.count("\n") == 1
    assert (arguments[0] if arguments else "COMMAND") in result.err
