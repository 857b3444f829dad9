"""Calls as jobs: real interpreters, started by a stand-in for the server."""

import concurrent.futures
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rota
from rota.lifecycle.state import Phase
from rota.sdk.client import Client
from rota.sdk.errors import BadInput, ExecutorClosed, JobFailed, NotPicklable, TooLarge, Unauthorised
from rota.sdk.executor import Executor
from rota.sdk.payload import RemoteTraceback
from tests.kit.waiting import wait_until
from tests.unit.sdk.stand_in import TOKEN, Fault, StandIn


@pytest.fixture
def executor(client: Client) -> Iterator[Executor]:
    with Executor(client, project="vision") as shared:
        yield shared


def sleeper(started: Path) -> Callable[[], None]:
    def sleep() -> None:
        from pathlib import Path

        Path(started).touch()
        time.sleep(600)

    return sleep


def test_a_call_is_a_job_with_the_function_s_name(executor: Executor, server: StandIn) -> None:
    def power(base: int, *, exponent: int) -> int:
        return int(base**exponent)

    future = executor.submit(power, 2, exponent=10)
    assert future.result(30) == 1024
    assert future.job_id is not None
    job = server.jobs[future.job_id]
    assert job.succeeded
    assert job.project == "vision"
    assert job.name.endswith("locals-.power")
    assert job.command.endswith("-m rota.sdk.worker")


@pytest.mark.slow
def test_many_calls_are_few_arrays_and_few_requests(executor: Executor, server: StandIn) -> None:
    assert list(executor.map(lambda a, b: a - b, range(12), range(0, 120, 10))) == [
        a - b for a, b in zip(range(12), range(0, 120, 10), strict=True)
    ]
    assert len(server.jobs) == 12
    posts = [request for request in server.requests if request == "POST /jobs"]
    assert len(posts) < 12


def test_arguments_that_are_too_large_are_named_and_so_is_the_limit(
    executor: Executor, server: StandIn
) -> None:
    server.most_file_bytes = 100_000
    large = executor.submit(len, b"x" * 200_000)
    with pytest.raises(TooLarge, match=r"^the arguments of len: \d{3},\d{3} bytes .*server\.limits\.upload"):
        large.result(30)
    kept = b"x" * 200_000
    with pytest.raises(TooLarge, match=r"^the function .*, with what it refers to: "):
        executor.submit(lambda: len(kept)).result(30)
    assert executor.submit(len, b"small").result(30) == 5


@pytest.mark.slow
def test_several_calls_in_one_job(executor: Executor, server: StandIn) -> None:
    assert list(executor.map(str.upper, "abcdefg", chunksize=3)) == list("ABCDEFG")
    assert len(server.jobs) == 3
    with pytest.raises(BadInput, match="chunksize"):
        executor.map(str.upper, "abc", chunksize=0)


@pytest.mark.slow
def test_an_exception_comes_back_with_where_it_was_raised(executor: Executor, server: StandIn) -> None:
    def divide(a: int, b: int) -> float:
        return a / b

    future = executor.submit(divide, 1, 0)
    with pytest.raises(ZeroDivisionError) as caught:
        future.result(30)
    assert isinstance(caught.value.__cause__, RemoteTraceback)
    text = "".join(traceback.format_exception(caught.value))
    assert "in divide" in text
    assert "return a / b" in text
    assert future.job_id is not None
    assert server.jobs[future.job_id].phase is Phase.FAILED


@pytest.mark.slow
def test_an_exception_that_cannot_be_carried_is_told_as_text(executor: Executor) -> None:
    class Picky(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")

    def complain() -> None:
        raise Picky(1, 2)

    with pytest.raises(RuntimeError, match="Picky: 1 and 2"):
        executor.submit(complain).result(30)


@pytest.mark.slow
def test_a_result_that_cannot_be_carried(executor: Executor) -> None:
    with pytest.raises(NotPicklable, match="its result can't be sent"):
        executor.submit(threading.Lock).result(30)


@pytest.mark.slow
def test_an_interpreter_that_dies_says_what_it_last_wrote(executor: Executor) -> None:
    def die() -> None:
        import os

        os.write(2, b"out of luck\n")
        os._exit(7)

    with pytest.raises(JobFailed, match="failed with status 7") as caught:
        executor.submit(die).result(30)
    assert "out of luck" in str(caught.value)


def test_what_cannot_be_sent_is_refused_at_once_and_named(executor: Executor, server: StandIn) -> None:
    lock = threading.Lock()
    with pytest.raises(NotPicklable, match="argument 2 of print can't be sent"):
        executor.submit(print, 1, lock)
    with pytest.raises(NotPicklable, match="argument end of print"):
        executor.submit(print, end=lock)  # type: ignore[arg-type]
    with pytest.raises(NotPicklable, match=r"the function .*lambda can't be sent"):
        executor.submit(lambda: lock)
    assert server.jobs == {}


@pytest.mark.slow
def test_a_running_call_can_be_cancelled(executor: Executor, server: StandIn, tmp_path: Path) -> None:
    future = executor.submit(sleeper(tmp_path / "started"))
    wait_until(lambda: (tmp_path / "started").exists() and future.running())
    assert future.cancel()
    assert future.cancel()
    assert (future.cancelled(), future.done(), future.running()) == (True, True, False)
    assert concurrent.futures.wait([future], timeout=0).done == {future}
    wait_until(lambda: [job.phase for job in server.jobs.values()] == [Phase.CANCELLED])
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()


@pytest.mark.slow
def test_a_call_that_has_ended_cannot_be_cancelled(executor: Executor) -> None:
    future = executor.submit(os.getpid)
    assert future.result(30) != os.getpid()
    assert not future.cancel()


@pytest.mark.slow
def test_as_completed_gives_those_that_end_first(executor: Executor, tmp_path: Path) -> None:
    slow = executor.submit(sleeper(tmp_path / "started"))
    quick = executor.submit(print)
    assert next(concurrent.futures.as_completed([slow, quick], timeout=30)) is quick
    slow.cancel()


@pytest.mark.slow
def test_shutting_down_cancels_what_waits_and_waits_for_what_runs(tmp_path: Path) -> None:
    with StandIn(processes=1) as narrow, Client(narrow.url, TOKEN) as its_client:
        executor = Executor(its_client)
        go, started = tmp_path / "go", tmp_path / "started"

        def wait_for_go() -> str:
            import time

            started.touch()
            while not go.exists():
                time.sleep(0.01)
            return "went"

        running = executor.submit(wait_for_go)
        wait_until(running.running)
        waiting = [executor.submit(abs, number) for number in range(3)]
        executor.shutdown(wait=False, cancel_futures=True)
        with pytest.raises(ExecutorClosed):
            executor.submit(abs, 1)
        assert concurrent.futures.wait(waiting, timeout=20).not_done == set()
        assert all(future.cancelled() for future in waiting)
        go.touch()
        executor.shutdown()
        assert running.result(0) == "went"


@pytest.mark.covers("job-6")
@pytest.mark.slow
def test_calls_survive_a_server_that_goes_away_for_a_while(executor: Executor, server: StandIn) -> None:
    server.break_streams()
    server.misbehave(Fault(0), Fault(503), Fault(0, after_the_deed=True), Fault(0, after_the_deed=True))
    assert executor.submit(abs, -5).result(30) == 5
    assert len(server.jobs) == 1


@pytest.mark.slow
def test_an_end_that_nobody_heard_of_is_found(executor: Executor, server: StandIn, tmp_path: Path) -> None:
    future = executor.submit(sleeper(tmp_path / "started"))
    wait_until(lambda: future.running() and (tmp_path / "started").exists())
    assert future.job_id is not None
    server.end_silently(future.job_id, Phase.TIMED_OUT)
    server.break_streams()
    with pytest.raises(JobFailed, match="ran into its time limit"):
        future.result(30)


def test_a_token_that_is_no_longer_good_ends_all_calls(
    executor: Executor, server: StandIn, tmp_path: Path
) -> None:
    future = executor.submit(sleeper(tmp_path / "started"))
    wait_until(lambda: future.running())
    server.revoke_token()
    server.break_streams()
    with pytest.raises(Unauthorised):
        future.result(30)
    wait_until(lambda: takes_no_more(executor))


def takes_no_more(executor: Executor) -> bool:
    try:
        executor.submit(abs, 1)
    except ExecutorClosed:
        return True
    return False


def test_what_the_executor_gives_itself_cannot_be_given(client: Client) -> None:
    with pytest.raises(BadInput, match="command: is given by the executor itself"):
        Executor(client, command=["true"])


def test_a_bad_job_field_fails_the_call_with_the_server_s_words(client: Client, server: StandIn) -> None:
    executor = Executor(client, resources={"cpu": "many"})
    with executor, pytest.raises(BadInput, match="resources"):
        executor.submit(abs, 1).result(30)
    assert server.jobs == {}


def test_without_a_server_there_is_no_executor(server: StandIn) -> None:
    with Client(server.url, "wrong") as stranger, pytest.raises(Unauthorised):
        rota.Executor(stranger)


@pytest.mark.slow
def test_a_program_that_just_ends_waits_for_its_calls(server: StandIn) -> None:
    program = """
import rota
future = rota.Executor().submit(abs, -7)
future.add_done_callback(lambda future: print(future.result()))
"""
    environment = {**os.environ, "ROTA_URL": server.url, "ROTA_TOKEN": TOKEN}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (ended.stdout, ended.stderr) == ("7\n", "")
