"""Jobs by name: people remember names better than numbers."""

from __future__ import annotations

import re
from itertools import islice

from rota.cli.client.connection import Server
from rota.lifecycle.state import TERMINAL, Phase
from rota.sdk.errors import NotFound, RotaError
from rota.views.folding import fold_names

_ID = re.compile(r"\d+(\.\d+)?", re.ASCII)
_OF_SLURM = re.compile(r"(\d+)_(\d+)", re.ASCII)
"""As Slurm writes the number of an array and the index of a job in it."""
_LOOKED_AT = 1000
_UNFINISHED = [phase for phase in Phase if phase not in TERMINAL]


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def job_named(server: Server, text: str) -> str:
    """The id for a name: of the one unfinished job or array with that name, else of the latest."""
    if is_id(text):
        return text
    if of_slurm := _OF_SLURM.fullmatch(text):
        return f"{of_slurm[1]}.{of_slurm[2]}"
    unfinished = server.jobs(name=text, phases=_UNFINISHED, limit=_LOOKED_AT)
    ids = dict.fromkeys(job.array or job.id for job in islice(unfinished, _LOOKED_AT))
    if len(ids) > 1:
        raise RotaError(
            f'{len(ids)} jobs named "{text}" wait or run: {fold_names(sorted(ids), most=10)}',
            help="give the id of one",
        )
    if ids:
        return next(iter(ids))
    latest = next(server.jobs(name=text, limit=1), None)
    if latest is None:
        raise NotFound(f'there is no job named "{text}"', help="`rota ls --all` lists all jobs")
    return latest.array or latest.id
