"""Jobs that another one waits for, by name: `--after build`, as one writes `--after 17`."""

from __future__ import annotations

from collections.abc import Sequence

from rota.cli.client.connection import connect
from rota.cli.client.job_names import is_id, job_named
from rota.cli.job_options import JobOptions


def with_ids(options: JobOptions) -> JobOptions:
    """Asks the server only if there is a name among them."""
    if all(is_id(_job(text)) for text in options.after or ()):
        return options
    return options._replace(after=_named(options.after or ()))


def _named(given: Sequence[str]) -> list[str]:
    with connect() as server:
        return [f"{job_named(server, _job(text))}{text[len(_job(text)) :]}" for text in given]


def _job(text: str) -> str:
    """Without the end that is waited for."""
    return text.partition(":")[0]
