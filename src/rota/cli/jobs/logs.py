"""`rota logs`: the output of a job's tasks, byte by byte, or by lines with rank and time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from rota.cli.client.connection import Server, connect
from rota.cli.client.job_names import array_of, by_index, job_named
from rota.cli.client.several import Several
from rota.cli.jobs.log_lines import prefixed
from rota.cli.option_values import moment_of, read_as
from rota.cli.output import write_bytes
from rota.cli.showing import clock
from rota.model.quantities import parse_bytes
from rota.sdk.errors import NotFound

_LONGEST_PAGE = 1000


def logs(
    job: str,
    ranks: Sequence[int],
    since: str | None,
    tail: str | None,
    *,
    follow: bool,
    prefix: bool | None,
) -> None:
    since_at = moment_of("--since", since, clock().now_ms)
    tail_bytes = None if tail is None else read_as("--tail", parse_bytes, tail)
    with connect() as server:
        job = job_named(server, job)

        def show(one: str, *, by_rank: bool, element: str = "") -> None:
            chunks = server.logs(one, ranks=ranks, since=since_at, follow=follow, tail=tail_bytes)
            for data in prefixed(chunks, element) if by_rank else (chunk.data for chunk in chunks):
                write_bytes(data)

        try:
            is_prefixed = prefix
            if is_prefixed is None:
                # On a terminal, lines of several tasks need their ranks. A file or a pipe gets the bytes.
                several = len(ranks) != 1
                is_prefixed = sys.stdout.isatty() and several and server.job(job).job.tasks > 1
            show(job, by_rank=is_prefixed)
        except NotFound as error:
            if array_of(error) is None:
                raise
            _show_array(server, job, lambda one: show(one, by_rank=_marked(prefix), element=one))


def _marked(prefix: bool | None) -> bool:
    return sys.stdout.isatty() if prefix is None else prefix


def _show_array(server: Server, array: str, show: Callable[[str], None]) -> None:
    """One job after the other, by index. On a terminal, each line says whose it is."""
    found = server.jobs(array=array, limit=_LONGEST_PAGE)
    ids = sorted((job.id for job in found), key=by_index)
    several = Several()
    several.done(ids, show)
    several.tell()
