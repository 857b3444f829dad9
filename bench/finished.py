"""A database with a million jobs that are over, made once and kept: what years of use leave behind."""

from __future__ import annotations

from hashlib import sha256
from itertools import islice
from pathlib import Path

from msgspec import json

from bench.rota_server import CACHE
from rota.lifecycle.events import Ended, Submitted
from rota.lifecycle.state import EndReason, JobState, Phase, TaskEnd, Used
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.resources import Resources
from rota.model.run import JobSpec, Run
from rota.model.task import TaskSpec
from rota.store.sql import migrations
from rota.store.store import open_store
from rota.store.writing.batch import Attempt, Batch, EventRow

FINISHED = 1_000_000
_AT_ONCE = 2_000
_FIRST_MS = 1_700_000_000_000
_RUN_MS = 60_000
_END = TaskEnd(EndReason.EXITED, 0, used=Used(50_000, 100 << 20))


def finished_database(count: int = FINISHED) -> Path:
    path = CACHE / f"finished-{count}-{_version()}.db"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".new")
        for old in CACHE.glob(f"{unfinished.name}*"):
            old.unlink()
        _fill(unfinished, count)
        unfinished.rename(path)
    return path


def _version() -> str:
    """Of the schema and of this module: another one needs another database."""
    files = [Path(__file__), *sorted(Path(migrations.__path__[0]).rglob("*.py"))]
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _fill(path: Path, count: int) -> None:
    specs = [_spec(shape) for shape in range(500)]
    with open_store(f"sqlite:///{path}") as store:
        left = iter(range(count))
        while some := list(islice(left, _AT_ONCE)):
            first = store.numbers.allocate(len(some))
            batch = Batch()
            for at, place in enumerate(some):
                _add(batch, first + at, specs[place % len(specs)])
            store.commit(batch)


def _spec(shape: int) -> JobSpec:
    task = TaskSpec(requests=Resources(cpu_milli=1000 * (1 + shape % 8), memory_bytes=1 << 30))
    template = JobTemplate(
        groups=(TaskGroup(task),), project=f"project{shape % 20}", user=f"user{shape % 50}"
    )
    return JobSpec(template, Run(command=("./step", str(shape))), name=f"step{shape}")


def _add(batch: Batch, number: int, spec: JobSpec) -> None:
    """With its first event and its last: those between are asked for by nobody here."""
    job_id, node = JobId(str(number)), NodeName("n1")
    submitted_ms = _FIRST_MS + 1000 * number
    started_ms, ended_ms = submitted_ms + 10_000, submitted_ms + 10_000 + _RUN_MS
    batch.jobs.append(
        JobState(
            job_id,
            number,
            spec,
            submitted_ms,
            Phase.SUCCEEDED,
            ended_ms,
            done=(0,),
            fence=1,
            started_ms=started_ms,
            ended_ms=ended_ms,
            last_end=_END,
        )
    )
    batch.attempts.append(Attempt(job_id, 0, 1, node, (), submitted_ms, started_ms, ended_ms, _END))
    project, user = spec.template.project, spec.template.user
    for at_ms, event in (
        (submitted_ms, Submitted(spec, number, user)),
        (ended_ms, Ended(0, 1, _END)),
    ):
        kind = f"job.{type(event).__name__}"
        batch.events.append(EventRow(at_ms, kind, job_id, project, user, json.encode(event)))
