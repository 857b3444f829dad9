"""`rota watch`: jobs and their progress towards their time limits.

The server's stream of events says when something changed; then the jobs are read again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rota.api.jobs import JobDocument
from rota.api.service import EventDocument
from rota.cli.client.connection import Server, connect
from rota.cli.client.job_names import job_named
from rota.cli.jobs.job_tables import PHASE_STYLES, Row, jobs_table, rows_of, time_text
from rota.cli.output import show, write
from rota.cli.showing import clock
from rota.cli.tables import QUIET, new_table
from rota.cli.terminal.background import Background
from rota.cli.terminal.screen import draw_until_quit, is_terminal
from rota.lifecycle.state import TERMINAL, Phase
from rota.views.folding import fold_counted
from rota.views.jobs import note_text, phase_text
from rota.views.quoting import one_line
from rota.views.times import Clock, ms_of
from rota.views.wording import count_text

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
            show([jobs_table(rows_of(watched.refreshed()), clock(), wide=False)])
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
        found = {job.id: job for job in self._found(_UNFINISHED) if self._is_wanted(job)}
        gone = {id: job for id, job in self._current.items() if id not in found}
        if any(not job.phase.is_terminal for job in gone.values()):
            gone |= self._ends_of(gone)
        self._current = found | gone
        return self.current()

    def _ends_of(self, gone: Mapping[str, JobDocument]) -> dict[str, JobDocument]:
        """How jobs ended. Most of them are among the newest jobs; the others are read one by one."""
        ends = {job.id: job for job in self._found(()) if job.id in gone}
        left = [id for id, job in gone.items() if id not in ends and not job.phase.is_terminal]
        return ends | {id: self._server.job(id).job for id in left[:_ASKED_ONE_BY_ONE]}

    def current(self) -> list[JobDocument]:
        now_s = time.monotonic()
        for id, job in list(self._current.items()):
            if job.phase.is_terminal and now_s - self._ended.setdefault(id, now_s) > _LINGER_S:
                del self._current[id], self._ended[id]
        return sorted(self._current.values(), key=_place)

    @property
    def all_over(self) -> bool:
        return all(job.phase.is_terminal for job in self._current.values())

    def _found(self, phases: Sequence[Phase]) -> Iterator[JobDocument]:
        found = self._server.jobs(
            project=self._project, user=self._user, queue=self._queue, phases=phases, limit=_MOST
        )
        return islice(found, _MOST)

    def _is_wanted(self, job: JobDocument) -> bool:
        return not self._wanted or job.id in self._wanted or job.array in self._wanted


def _place(job: JobDocument) -> tuple[int, int, str]:
    """Running jobs come first, then the earliest."""
    order = _ORDER.index(job.phase) if job.phase in _ORDER else len(_ORDER)
    return order, ms_of(job.started or job.submitted), job.id


def _tell_changes(watched: Watched, happened: Background[EventDocument]) -> None:
    """Prints a line for each job or array whose state has changed, until all are finished."""
    told: dict[str, str] = {}
    while True:
        now = clock()
        for row in rows_of(watched.refreshed()):
            job = row.first
            id = f"{job.array}.*" if row.is_array else job.id
            state = f"{_state(row)}, {_note(row, now)}".removesuffix(", ")
            if told.get(id) != state:
                told[id] = state
                write(f"{now.text(now.now_ms)}  {id}  {one_line(job.name)}  {state}\n")
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

    def __call__(self, height: int) -> list[RenderableType] | None:
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


def watch_parts(jobs: Sequence[JobDocument], now: Clock, height: int) -> list[RenderableType]:
    rows = rows_of(jobs)
    room = max(1, height - 3)
    counts = _counts(jobs)
    more = f"; {count_text(len(rows) - room, 'more line')} below" if len(rows) > room else ""
    return [progress_table(rows[:room], now), Text(f"{counts}{more}; q quits", style=QUIET)]


def _counts(jobs: Sequence[JobDocument]) -> str:
    running = sum(job.phase is Phase.RUNNING for job in jobs)
    waiting = sum(not job.phase.is_terminal for job in jobs) - running
    return f"{running:,} running, {waiting:,} waiting"


def progress_table(rows: Sequence[Row], now: Clock) -> Table:
    table = new_table("job", "name", "state", "progress", "time", "note")
    for row in rows:
        job = row.first
        id = f"{job.array}.*" if row.is_array else job.id
        table.add_row(
            id, one_line(job.name), _state(row), _progress(row, now), _time(row, now), _note(row, now)
        )
    for column in table.columns:
        column.no_wrap, column.overflow = True, "ellipsis"
    return table


def _state(row: Row) -> Text:
    job = next((one for one in row.jobs if one.phase is Phase.RUNNING), row.first)
    return Text(phase_text(job), style=PHASE_STYLES[job.phase])


def _progress(row: Row, now: Clock) -> RenderableType:
    """For an array, the share of finished jobs; for a job, the share of its time limit."""
    if row.is_array:
        return _bar(sum(job.phase.is_terminal for job in row.jobs), len(row.jobs))
    job = row.first
    if job.started is None or job.phase.is_terminal or job.time_limit_s is None:
        return ""
    return _bar(max(0, now.now_ms - ms_of(job.started)), max(1, round(job.time_limit_s * 1000)))


def _bar(done: int, total: int) -> ProgressBar:
    return ProgressBar(total=total, completed=min(done, total), width=_BAR_WIDTH)


def _time(row: Row, now: Clock) -> str:
    return "" if row.is_array else time_text(row.first, now)


def _note(row: Row, now: Clock) -> str:
    if row.is_array:
        over = sum(job.phase.is_terminal for job in row.jobs)
        return f"{over:,} of {len(row.jobs):,} finished"
    job = row.first
    if job.phase is Phase.RUNNING:
        return f"on {fold_counted(job.nodes)}"
    return note_text(job, now)
