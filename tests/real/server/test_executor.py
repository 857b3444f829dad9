"""Python calls as jobs of a real server."""

from __future__ import annotations

import concurrent.futures
import os
import time
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from rota.sdk.errors import JobFailed, TooLarge
from rota.sdk.executor import Executor
from tests.real.server.rota_server import RotaServer, eventually


def square(n: int) -> int:
    return n * n


def fail(message: str) -> None:
    raise LookupError(message)


def test_a_map_of_200_calls_comes_back_in_order(server: RotaServer) -> None:
    with Executor(server.client, resources={"cpu": "250m"}, time_limit="1m") as executor:
        assert list(executor.map(square, range(200), chunksize=20)) == [n * n for n in range(200)]


def test_each_call_is_a_job(server: RotaServer) -> None:
    offset = 3
    with Executor(server.client, resources={"cpu": "500m"}, time_limit="1m") as executor:
        futures = [executor.submit(lambda n: (n + offset, os.getpid()), n) for n in range(8)]
        answers = [future.result(60) for future in futures]
        assert [answer[0] for answer in answers] == list(range(3, 11))
        assert len({pid for _, pid in answers}) == 8
        assert len({future.job_id for future in futures}) == 8


def test_exceptions_are_carried_back(server: RotaServer) -> None:
    with Executor(server.client, time_limit="1m") as executor:
        with pytest.raises(LookupError, match="no such thing"):
            executor.submit(fail, "no such thing").result(60)
        with pytest.raises(JobFailed) as failed:
            executor.submit(os._exit, 7).result(60)
    assert failed.value.job is not None
    assert failed.value.job.exit_code == 7


def test_an_argument_that_is_too_large_is_told_with_the_setting(server: RotaServer) -> None:
    with Executor(server.client, time_limit="1m") as executor:
        with pytest.raises(TooLarge, match=r"^the arguments of len: .*server\.limits\.upload"):
            executor.submit(len, bytes(65 << 20)).result(60)
        assert executor.submit(len, b"small").result(60) == 5


def test_a_call_that_runs_can_be_cancelled(server: RotaServer, tmp_path: Path) -> None:
    def hang(file: Path) -> None:
        file.touch()
        time.sleep(60)

    begun = tmp_path / "begun"
    with Executor(server.client, time_limit="1m", grace="1s") as executor:
        future = executor.submit(hang, begun)
        eventually(begun.exists, "the call to run")
        assert future.cancel()
        with pytest.raises(concurrent.futures.CancelledError):
            future.result(60)
    assert future.job_id is not None
    assert server.over(future.job_id).phase is Phase.CANCELLED
