"""Questions about files: reads the files into what the engine needs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import TypeVar

import typer

from rota import clock
from rota.cli.moments import Way, moment_ms
from rota.cli.output import talk
from rota.forecast.estimator import EstimatorState
from rota.intake.errors import InputError
from rota.intake.files import Pods, Trouble, read_policy, read_records
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.on_files import Moment, latest_time_ms
from rota.model.cluster import ClusterRecords
from rota.model.ids import TaskName
from rota.model.job import Job
from rota.model.policy import Defaults
from rota.model.quantities import QuantityError, parse_bytes, parse_timestamp_ms
from rota.snapshot.defaults import assumed_for
from rota.views.times import Clock
from rota.views.why.view import Subject

R = TypeVar("R")

_COMPARED = 10_000
"""Names that a mistyped one is compared with: a guess isn't worth seconds."""


@dataclass(frozen=True)
class Files:
    """The arguments and options that all questions about files share."""

    cluster: str
    jobs: str
    policy: str | None
    now: str | None
    max_size: str
    history: str | None = None
    more: tuple[str, ...] = ()
    """Further files of jobs."""


@dataclass(frozen=True, eq=False)
class Question:
    records: ClusterRecords
    moment: Moment
    now_ms: int
    trouble: Trouble
    """With pods of Kubernetes manifests; all else was read."""
    pods: Pods


def read_question(files: Files) -> Question:
    now_ms = None if files.now is None else _parsed("--now", _moment_ms, files.now)
    max_bytes = _parsed("--max-file-size", parse_bytes, files.max_size)
    host = PluginHost()
    # Reading makes millions of objects that all stay: looking for garbage in between triples the time.
    gc.disable()
    policy = read_policy(files.policy, host.names if files.policy else None, max_bytes=max_bytes)
    found: list[Trouble] = []
    pods: list[Pods] = []
    records = read_records(
        files.cluster,
        files.jobs,
        *files.more,
        max_bytes=max_bytes,
        on_note=lambda note: talk(f"note: {note}"),
        on_trouble=found.append,
        on_pods=pods.append,
    )
    trouble = found[0] if found else Trouble()
    for error in trouble.incomplete:
        talk(f"note: {error}")
    for error in trouble.faults:
        talk(str(error))
    assumed = assumed_for(records, policy.defaults)
    learnt = None if files.history is None else _read_history(files.history, assumed, max_bytes)
    if now_ms is None:
        now_ms = latest_time_ms(records)
    if now_ms is None:
        now_ms = clock.now_ms()
    moment = Moment(records, policy, now_ms, host, learnt=learnt)
    gc.freeze()
    gc.enable()
    return Question(records, moment, now_ms, trouble, pods[0])


def _read_history(file: str, defaults: Defaults, max_bytes: int) -> EstimatorState:
    from rota.loop.learnt import read_history

    return read_history(file, defaults, max_bytes=max_bytes, on_note=lambda note: talk(f"note: {note}"))


def find_subject(name: str, file: str, records: ClusterRecords) -> Subject:
    """A job by its name or by the name of one of its tasks, as for pods of a gang."""
    jobs = [one.job for one in records.jobs] + [one.job for one in records.conditional]
    for job in jobs:
        if job.id == name:
            return Subject(name, job.id)
    for job in jobs:
        rank = _rank_named(name, job)
        if rank is not None:
            return Subject(name, job.id, rank)
    meant = get_close_matches(name, list(islice(_known_names(jobs), _COMPARED)), n=1)
    raise InputError(
        file,
        f'there is no job named "{name}"',
        f'did you mean "{meant[0]}"?' if meant else "`rota plan` lists all jobs that start or wait",
    )


def _rank_named(name: str, job: Job) -> int | None:
    if job.task_names:
        return job.task_names.index(TaskName(name)) if name in job.task_names else None
    job_id, _, rank = name.rpartition("/")
    is_task = job_id == job.id and rank.isdecimal() and int(rank) < job.template.task_count
    return int(rank) if is_task else None


def _known_names(jobs: Iterable[Job]) -> Iterator[str]:
    for job in jobs:
        yield from job.task_names if job.tasks_are_jobs else (job.id,)


def _moment_ms(text: object) -> int:
    """A plain number is a time here, as in files, and not so long from now."""
    with suppress(QuantityError):
        return parse_timestamp_ms(text)
    return moment_ms(str(text), Clock(clock.now_ms()), Way.FUTURE)


def _parsed(option: str, parse: Callable[[object], R], text: str) -> R:
    try:
        return parse(text)
    except QuantityError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
