"""`rota watch`: jobs and their progress towards their time limits.

The server's stream of events says when something changed; then the jobs are read again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from rota.api.jobs import JobDocument
from rota.api.service import EventDocument
from rota.cli.client.connection import Server, connect
from rota.cli.client.job_names import array_of, job_named
from rota.cli.jobs.job_tables import jobs_table, state_cell, time_text
from rota.cli.output import show, write
from rota.cli.showing import clock
from rota.cli.tables import GOOD, QUIET, Shown, Table, new_table
from rota.cli.terminal.background import Background
from rota.cli.terminal.screen import draw_until_quit, is_terminal
from rota.cli.text import Text
from rota.lifecycle.state import TERMINAL, Phase
from rota.sdk.errors import NotFound
from rota.views.amounts import count_text
from rota.views.folding import fold_counted
from rota.views.jobs import note_text, phase_text
from rota.views.quoting import one_line
from rota.views.times import Clock, ms_of

_UNFINISHED = tuple(phase for phase in Phase if phase not in TERMINAL)
_PAUSE_S = 0.5
_MOST = 500
_ASKED_ONE_BY_ONE = 20
_LONGEST_UNASKED_S = 5.0
"""A change may be missing from the stream: it came before the stream began, or while it was interrupted."""
_LINGER_S = 30.0
"""How long a finished job stays on the screen."""
_BAR_WIDTH = 16
_ORDER = (Phase.RUNNING, Phase.SCHEDULED, Phase.PENDING, Phase.CREATED)


def watch(
    jobs: Sequence[str],
    project: str | None,
    user: str | None,
    queue: str | None,
    *,
    until_done: bool,
) -> None:
    with connect() as server:
        jobs = [job_named(server, job) for job in jobs]
        watched = Watched(server, jobs, project, user, queue)
        if not (is_terminal() or until_done):
            show([jobs_table(watched.refreshed(), clock(), wide=False)])
            return
        happened = Background(server.events(follow=True, project=project))
        if not is_terminal():
            _tell_changes(watched, happened)
            return
        draw_until_quit(_Drawing(watched, happened, until_done=until_done), _PAUSE_S)


class Watched:
    """The watched jobs: unfinished ones, and for a while those that have just ended."""

    def __init__(
        self, server: Server, jobs: Sequence[str], project: str | None, user: str | None, queue: str | None
    ) -> None:
        self._server = server
        self._wanted = frozenset(jobs)
        self._project, self._user, self._queue = project, user, queue
        self._current: dict[str, JobDocument] = {}
        self._ended: dict[str, float] = {}
        """When a job was first seen to be finished."""

    def refreshed(self) -> list[JobDocument]:
        """Reads the jobs again."""
        if self._wanted:
            found = {id: self._one(id) for id in self._wanted}
        else:
            found = {job.id: job for job in self._found(_UNFINISHED)}
        gone = {id: job for id, job in self._current.items() if id not in found}
        if any(not job.is_over for job in gone.values()):
            gone |= self._ends_of(gone)
        self._current = found | gone
        return self.current()

    def _ends_of(self, gone: Mapping[str, JobDocument]) -> dict[str, JobDocument]:
        """How jobs ended. Most of them are among the newest jobs; the others are read one by one."""
        ends = {job.id: job for job in self._found(()) if job.id in gone}
        left = [id for id, job in gone.items() if id not in ends and not job.is_over]
        return ends | {id: self._one(id) for id in left[:_ASKED_ONE_BY_ONE]}

    def _one(self, id: str) -> JobDocument:
        """A job or an array."""
        try:
            return self._server.job(id).job
        except NotFound as error:
            if array_of(error) is None:
                raise
            return self._server.array(id).array

    def current(self) -> list[JobDocument]:
        now_s = time.monotonic()
        for id, job in list(self._current.items()):
            if job.is_over and now_s - self._ended.setdefault(id, now_s) > _LINGER_S:
                del self._current[id], self._ended[id]
        return sorted(self._current.values(), key=_place)

    @property
    def all_over(self) -> bool:
        return all(job.is_over for job in self._current.values())

    def _found(self, phases: Sequence[Phase]) -> Iterator[JobDocument]:
        found = self._server.jobs(
            project=self._project, user=self._user, queue=self._queue, phases=phases, fold=True, limit=_MOST
        )
        return islice(found, _MOST)


def _place(job: JobDocument) -> tuple[int, int, str]:
    """Running jobs come first, then the earliest."""
    order = next((at for at, phase in enumerate(_ORDER) if phase in job.phases), len(_ORDER))
    return order, ms_of(job.started or job.submitted), job.id


def _tell_changes(watched: Watched, happened: Background[EventDocument]) -> None:
    """Prints a line for each job or array whose state has changed, until all are finished."""
    told: dict[str, str] = {}
    while True:
        now = clock()
        for job in watched.refreshed():
            state = f"{phase_text(job)}, {_note(job, now)}".removesuffix(", ")
            if told.get(job.id) != state:
                told[job.id] = state
                write(f"{now.text(now.now_ms)}  {job.id}  {one_line(job.name)}  {state}\n")
        if watched.all_over:
            return
        happened.within(_LONGEST_UNASKED_S)


class _Drawing:
    def __init__(self, watched: Watched, happened: Background[EventDocument], *, until_done: bool) -> None:
        self._watched = watched
        self._happened = happened
        self._until_done = until_done
        self._jobs = watched.refreshed()
        self._asked_s = time.monotonic()
        self._is_last = False

    def __call__(self, height: int) -> list[Shown] | None:
        if self._is_last:
            return None
        is_long_ago = time.monotonic() - self._asked_s > _LONGEST_UNASKED_S
        if self._happened.within(0) or is_long_ago:
            self._asked_s = time.monotonic()
            self._jobs = self._watched.refreshed()
        else:
            self._jobs = self._watched.current()
        self._is_last = self._until_done and self._watched.all_over
        return watch_parts(self._jobs, clock(), height)


def watch_parts(jobs: Sequence[JobDocument], now: Clock, height: int) -> list[Shown]:
    room = max(1, height - 3)
    counts = _counts(jobs)
    more = f"; {count_text(len(jobs) - room, 'more line')} below" if len(jobs) > room else ""
    return [progress_table(jobs[:room], now), Text(f"{counts}{more}; q quits", style=QUIET)]


def _counts(jobs: Sequence[JobDocument]) -> str:
    running = sum(job.phases.get(Phase.RUNNING, 0) for job in jobs)
    unfinished = sum(count for job in jobs for phase, count in job.phases.items() if not phase.is_terminal)
    return f"{running:,} running, {unfinished - running:,} waiting"


def progress_table(jobs: Sequence[JobDocument], now: Clock) -> Table:
    columns = ("job", "name", "state", "progress", "time", "note")
    table = new_table(*columns, whole=("time",), dropped=("progress", "time", "note"), in_one_line=True)
    for job in jobs:
        table.add_row(
            job.id, one_line(job.name), state_cell(job), _progress(job, now), _time(job, now), _note(job, now)
        )
    return table


def _progress(job: JobDocument, now: Clock) -> Text:
    """For an array, the share of finished jobs; for a job, the share of its time limit."""
    if job.elements is not None:
        return _bar(_finished(job), job.elements.size)
    if job.started is None or job.phase.is_terminal or job.time_limit_s is None:
        return Text()
    return _bar(max(0, now.now_ms - ms_of(job.started)), max(1, round(job.time_limit_s * 1000)))


def _finished(job: JobDocument) -> int:
    return sum(count for phase, count in job.phases.items() if phase.is_terminal)


def _bar(done: int, total: int) -> Text:
    full = min(_BAR_WIDTH, _BAR_WIDTH * done // max(1, total))
    return Text("━" * full, style=GOOD).append("━" * (_BAR_WIDTH - full), style=QUIET)


def _time(job: JobDocument, now: Clock) -> str:
    return "" if job.elements is not None else time_text(job, now)


def _note(job: JobDocument, now: Clock) -> str:
    if job.elements is not None:
        return f"{_finished(job):,} of {job.elements.size:,} finished"
    if job.phase is Phase.RUNNING:
        return f"on {fold_counted(job.nodes)}"
    return note_text(job, now)
