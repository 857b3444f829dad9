"""`rota wait`: until jobs are over. Arrays count as one: they are over when all their jobs are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from msgspec import Struct

from rota.cli.client.connection import Server, connect
from rota.cli.client.job_names import job_named
from rota.cli.exits import EX_OK, EX_TIMED_OUT
from rota.cli.jobs.following import status_of
from rota.cli.option_values import read_as
from rota.cli.output import ListFormat, talk
from rota.cli.showing import clock, show_list
from rota.cli.text import Text
from rota.lifecycle.state import TERMINAL, Phase
from rota.model.quantities import parse_duration_ms
from rota.patience.backoff import Backoff
from rota.sdk.errors import NotFound
from rota.views.folding import fold_names
from rota.views.jobs import outcome_text, phase_text
from rota.views.quoting import one_line

_LOOKS = Backoff(first_s=0.02, longest_s=2.0)
_UNFINISHED = [phase for phase in Phase if phase not in TERMINAL]
_UNSUCCESSFUL = [phase for phase in TERMINAL if phase is not Phase.SUCCEEDED]
_MOST_COUNTED = 10_000


class Over(Struct, frozen=True):
    """How one job or array ended."""

    id: str
    name: str
    outcome: str
    status: int
    """As `rota run` exits with."""


def wait(jobs: Sequence[str], timeout: str | None, output: ListFormat, *, any_one: bool) -> int:
    """The exit code."""
    timeout_ms = None if timeout is None else read_as("--timeout", parse_duration_ms, timeout)
    until_s = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
    with connect() as server:
        ids = list(dict.fromkeys(job_named(server, job) for job in jobs))
        arrays = frozenset(id for id in ids if _is_array(server, id))
        ended: dict[str, Over] = {}
        looks = 0
        while True:
            for id in ids:
                if id not in ended and (end := _end_of(server, id, id in arrays)) is not None:
                    ended[id], looks = end, 0
                    show_list([end], output, lambda one: one.id, lambda some: [_line(one) for one in some])
                    if any_one:
                        return end.status
            if len(ended) == len(ids):
                return next((end.status for end in map(ended.__getitem__, ids) if end.status), EX_OK)
            looks += 1
            pause_s = _LOOKS.pause_s(looks, chance=0.0)
            if until_s is not None:
                if time.monotonic() >= until_s:
                    left = [id for id in ids if id not in ended]
                    talk(f"still not over after {timeout}: {fold_names(left, most=10)}")
                    return EX_TIMED_OUT
                pause_s = min(pause_s, max(0.0, until_s - time.monotonic()))
            time.sleep(pause_s)


def _is_array(server: Server, id: str) -> bool:
    return "." not in id and next(server.jobs(array=id, limit=1), None) is not None


def _end_of(server: Server, id: str, is_array: bool) -> Over | None:
    """None: it isn't over."""
    if is_array:
        return _end_of_array(server, id)
    detail = server.job(id)
    if not detail.job.phase.is_terminal:
        return None
    told = outcome_text(detail.job, detail.attempts, clock())
    return Over(id, detail.job.name, told, status_of(detail))


def _end_of_array(server: Server, id: str) -> Over | None:
    if next(server.jobs(array=id, phases=_UNFINISHED, limit=1), None) is not None:
        return None
    elements = list(islice(server.jobs(array=id), _MOST_COUNTED))
    if not elements:
        raise NotFound(f"array {id} is no longer there", help="its record was removed after it ended")
    bad = next(server.jobs(array=id, phases=_UNSUCCESSFUL, limit=1), None)
    counts = Counter(map(phase_text, elements))
    told = ", ".join(f"{count:,} {phase}" for phase, count in sorted(counts.items()))
    return Over(id, elements[0].name, told, EX_OK if bad is None else status_of(server.job(bad.id)))


def _line(end: Over) -> Text:
    return Text(f"{end.id} ({one_line(end.name)}) {end.outcome}")
