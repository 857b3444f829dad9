"""`rota logs`: the output of a job's tasks, byte by byte, or by lines with rank and time."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rota.cli.client.connection import connect
from rota.cli.client.job_names import job_named
from rota.cli.jobs.log_lines import prefixed
from rota.cli.option_values import moment_of, read_as
from rota.cli.output import write_bytes
from rota.cli.showing import clock
from rota.model.quantities import parse_bytes


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
        if prefix is None:
            # On a terminal, lines of several tasks need their ranks. A file or a pipe gets the bytes.
            several = len(ranks) != 1
            prefix = sys.stdout.isatty() and several and server.job(job).job.tasks > 1
        chunks = server.logs(job, ranks=ranks, since=since_at, follow=follow, tail=tail_bytes)
        for data in prefixed(chunks) if prefix else (chunk.data for chunk in chunks):
            write_bytes(data)
