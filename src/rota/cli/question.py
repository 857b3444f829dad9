"""What is asked, as it stands on the command line, made into what the engine takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar

import typer

from rota.cli.output import talk
from rota.intake.errors import InputError
from rota.intake.files import read_policy, read_records
from rota.loop.once import latest_time_ms
from rota.loop.plugin_host import PluginHost
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId
from rota.model.policy import Policy
from rota.model.quantities import QuantityError, parse_bytes, parse_timestamp_ms

R = TypeVar("R")


@dataclass(frozen=True)
class Files:
    """The arguments and options that plans and explanations have in common, as they were given."""

    cluster: str
    jobs: str
    policy: str | None
    now: str | None
    max_size: str


@dataclass(frozen=True, eq=False)
class Question:
    records: ClusterRecords
    policy: Policy
    now_ms: int
    host: PluginHost


@dataclass(frozen=True)
class Subject:
    """What an explanation is asked of: a job, or one task of it."""

    name: str
    job: JobId
    rank: int | None = None


def read_question(files: Files) -> Question:
    now_ms = None if files.now is None else _parsed("--now", parse_timestamp_ms, files.now)
    max_bytes = _parsed("--max-file-size", parse_bytes, files.max_size)
    host = PluginHost()
    policy = read_policy(files.policy, host.names if files.policy else None, max_bytes=max_bytes)
    records = read_records(
        files.cluster, files.jobs, max_bytes=max_bytes, on_note=lambda note: talk(f"note: {note}")
    )
    if now_ms is None:
        now_ms = latest_time_ms(records)
    return Question(records, policy, _present_ms() if now_ms is None else now_ms, host)


def find_subject(name: str, files: Files, records: ClusterRecords) -> Subject:
    """A job by its name, or by the name of one of its tasks, as a pod of a gang is known."""
    tasks: dict[str, Subject] = {}
    for record in records.jobs:
        job = record.job
        if job.id == name and not job.tasks_are_jobs:
            return Subject(name, job.id)
        for rank in range(job.template.task_count):
            task = job.task_name(rank)
            if task == name:
                tasks.setdefault(task, Subject(name, job.id, rank))
    if name in tasks:
        return tasks[name]
    meant = get_close_matches(name, _known_names(records), n=1)
    raise InputError(
        files.jobs,
        f'there is no job named "{name}"',
        f'did you mean "{meant[0]}"?' if meant else "`rota plan` lists all that start or wait",
    )


def _known_names(records: ClusterRecords) -> list[str]:
    return [
        name
        for record in records.jobs
        for name in (record.job.task_names if record.job.tasks_are_jobs else (record.job.id,))
    ]


def _parsed(option: str, parse: Callable[[object], R], text: str) -> R:
    try:
        return parse(text)
    except QuantityError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _present_ms() -> int:
    return time.time_ns() // 1_000_000
