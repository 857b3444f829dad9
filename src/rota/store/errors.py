"""What can go wrong with a database, told so that somebody can do something about it."""

from __future__ import annotations


class StoreError(Exception):
    """The base of all."""


class StoreUnavailable(StoreError):
    """Not now: disk full, database gone, locked, connection lost. The next call tries again."""


class StoreCorrupt(StoreError):
    """What is there can't be read as what Rota wrote."""


class StoreRefused(StoreError):
    """This database won't be used: a bad URL, of a newer Rota, of somebody else."""


class ValueRejected(StoreError):
    """A batch or a filter has a value that the database can't hold, however often one tries. Nothing was
    changed."""


class StoreDiverged(StoreError):
    """The connection was lost during a commit that was then taken for failed, and turns out to have been
    kept: whoever holds the state in memory is to load it anew."""


class StoreFenced(StoreUnavailable):
    """Another server leads: whatever this one still wants to write doesn't count, and isn't kept."""


class BadCursor(StoreError):
    """No page begins there."""

    def __init__(self, after: str) -> None:
        super().__init__(
            f"{after!r} is not where a page of jobs ended: give `next` of the page before, as it was"
        )
