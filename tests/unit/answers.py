"""Answers of a server, as stand-ins for one give them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rota.api.jobs import JobDocument, Submitted, SubmittedEntry


def submitted(
    jobs: Sequence[JobDocument], *, dry_run: bool = False, warnings: Sequence[str] = ()
) -> Submitted:
    """Of jobs that came in together: those of an array are next to each other."""
    entries = []
    for number, each in groupby(jobs, key=lambda job: job.array or job.id):
        same = list(each)
        entries.append(
            SubmittedEntry(
                id=number,
                name=same[0].name,
                count=len(same),
                first=same[0].id,
                last=same[-1].id,
                is_array=same[0].array is not None,
            )
        )
    return Submitted(
        dry_run=dry_run, jobs=list(jobs), warnings=list(warnings), count=len(jobs), entries=entries
    )
