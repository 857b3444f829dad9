"""A server that is killed in the middle of everything: each job runs once, and none is lost."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from rota.sdk.client import Client
from rota.sdk.patience import Retries
from tests.real.server.conftest import NewServer
from tests.real.server.rota_server import eventually, shell

ARRAY = 200
SINGLE = 60
PATIENT = Retries(attempts=100, first_s=0.3, longest_s=4.0)
PAUSES_S = (0.15, 0.4)
"""A kill is to come at another moment each time."""


@pytest.mark.covers("job-1", "job-3")
def test_every_job_runs_once(new_server: NewServer, tmp_path: Path) -> None:
    """Submitted by a client that asks again when it gets no answer, and can't know what became of it."""
    server = new_server()
    ran = tmp_path / "ran"
    names = [f"job-{number}" for number in range(SINGLE)]
    script = f'sleep 0.02; echo "$ROTA_JOB_NAME$ROTA_ARRAY_INDEX" >> {ran}'

    def submit_all() -> list[str]:
        with Client(server.url, server.token, retries=PATIENT) as client:
            client.submit(shell(script, name="element-", array=ARRAY, resources={"cpu": "250m"}))
            return [client.submit(shell(script, name=name)).jobs[0].id for name in names]

    with ThreadPoolExecutor(1) as pool:
        submitting = pool.submit(submit_all)
        for pause_s in PAUSES_S:
            time.sleep(pause_s)
            server.kill()
            server.start()
        accepted = submitting.result(60)
    eventually(lambda: not any(server.unfinished()), "all jobs to end")
    expected = [*names, *(f"element-{index}" for index in range(ARRAY))]
    assert Counter(ran.read_text().split()) == Counter(expected)
    assert {server.client.job(job).job.phase for job in accepted} == {Phase.SUCCEEDED}
    assert sum(1 for _ in server.client.jobs()) == len(expected)
