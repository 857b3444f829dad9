"""What the metrics are told of changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from rota.control.memory import Memory
from rota.loop.telemetry.measuring import Measuring
from rota.loop.telemetry.metrics import Metrics
from rota.model.policy import Policy
from rota.store.writing.batch import Batch
from tests.stored import event, job


def measured(*batches: Batch) -> dict[str, float]:
    metrics = Metrics()
    controller = cast(Any, SimpleNamespace(memory=Memory(Policy()), last_commit_s=0.25))
    measuring = Measuring(metrics, controller)
    for batch in batches:
        measuring.kept(batch, ())
    lines = [line for line in metrics.exposition().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


STARTED = event("job.Started", "7")
"""At 5."""


def test_a_job_that_is_over_in_the_batch_of_its_start_has_waited_too() -> None:
    over = job("7", queue="desk", phase="succeeded", submitted_ms=2, started_ms=5)
    found = measured(Batch(events=[STARTED], jobs=[over]))
    assert found['rota_queue_wait_seconds_count{queue="desk"}'] == 1
    assert found['rota_queue_wait_seconds_sum{queue="desk"}'] == 0.003
    assert found["rota_job_scheduling_sli_duration_seconds_count"] == 1


def test_only_the_first_start_of_a_job_counts() -> None:
    running = job("7", phase="running", submitted_ms=2, started_ms=5)
    retried = job("7", phase="running", submitted_ms=2, started_ms=1)
    found = measured(
        Batch(events=[STARTED], jobs=[running]),
        Batch(events=[event("job.Ended", "7")], jobs=[running]),
        Batch(events=[STARTED], jobs=[retried]),
    )
    assert found["rota_job_scheduling_sli_duration_seconds_count"] == 1


def test_transactions_are_timed() -> None:
    found = measured(Batch(events=[STARTED]), Batch(events=[STARTED]))
    assert found["rota_store_commit_seconds_count"] == 2
    assert found["rota_store_commit_seconds_sum"] == 0.5
