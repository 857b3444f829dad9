"""Jobs and arrays by what people call them: numbers, Slurm's way to write them, and names."""

from __future__ import annotations

import re
from itertools import islice

from rota.cli.client.connection import Server
from rota.lifecycle.state import TERMINAL, Phase
from rota.sdk.errors import NotFound, RotaError
from rota.views.folding import fold_names

_ID = re.compile(r"(\d+)(?:[._](\d+|\*))?", re.ASCII)
_LOOKED_AT = 100
_UNFINISHED = [phase for phase in Phase if phase not in TERMINAL]


def by_index(id: str) -> tuple[int, str]:
    """The order of an array's elements. An id without an index, which no server should give, comes first."""
    match = _ID.fullmatch(id)
    return int(match[2]) if match and match[2] and match[2] != "*" else -1, id


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def job_named(server: Server, text: str) -> str:
    """The id for a name: of the one unfinished job or array with that name, else of the latest. `24_3` is
    24.3, and `24.*` the array 24."""
    if match := _ID.fullmatch(text):
        number, index = match.groups()
        return number if index in (None, "*") else f"{number}.{index}"
    unfinished = server.jobs(name=text, phases=_UNFINISHED, fold=True, limit=_LOOKED_AT)
    ids = [job.id for job in islice(unfinished, _LOOKED_AT)]
    if len(ids) > 1:
        raise RotaError(
            f'{len(ids)} jobs named "{text}" wait or run: {fold_names(sorted(ids), most=10)}',
            help="give the id of one",
        )
    if ids:
        return ids[0]
    latest = next(server.jobs(name=text, fold=True, limit=1), None)
    if latest is None:
        raise NotFound(f'there is no job named "{text}"', help="`rota ls --all` lists all jobs")
    return latest.id


def array_of(error: NotFound) -> str | None:
    """The array that was asked for as if it were a single job; None: that isn't what was wrong."""
    found = error.data.get("array")
    return found if isinstance(found, str) else None
