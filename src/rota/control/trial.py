"""Commands, tried on a draft each. One that fails leaves nothing behind, and its job is set aside if it was
more than Rota can handle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Generic, TypeVar

import structlog

from rota.control.draft import Draft
from rota.control.errors import ControlError
from rota.control.origin import Origin
from rota.control.slices import Sliced, in_slices
from rota.lifecycle.advance import Refused
from rota.lifecycle.events import SetAside
from rota.model.ids import JobId

R = TypeVar("R")

log = structlog.get_logger()


@dataclass(eq=False, slots=True)
class Asked(Generic[R]):
    """A command, and whoever waits for what it answers."""

    command: Callable[[Draft], R | Sliced[R]]
    answer: asyncio.Future[R]
    dry_run: bool = False
    job: JobId | None = None
    is_repeatable: bool = False
    """May be tried twice, on another draft."""
    is_setting_aside: bool = False
    result: R | None = None
    origin: Origin | None = None
    is_recorded: bool = False
    """Its change and the record of who made it are in one draft."""


async def try_all(taken: list[Asked[Any]], draft: Draft) -> list[Asked[Any]]:
    """Those that succeeded. The others are answered."""
    done: list[Asked[Any]] = []
    for are_repeatable, some in groupby(taken, attrgetter("is_repeatable")):
        asked = list(some)
        if are_repeatable and _try_together(asked, draft):
            done += asked
        else:
            done += [one for one in asked if await _try(one, draft)]
    return done


def _try_together(asked: list[Asked[Any]], draft: Draft) -> bool:
    """On one draft for all, which is dropped if one of them fails: mostly none does."""
    own = draft.on_top()
    try:
        for one in asked:
            one.command(own)
    except Exception:
        return False
    draft.merge(own)
    return True


async def _try(asked: Asked[Any], draft: Draft) -> bool:
    if asked.answer.cancelled():
        return False
    own = draft.on_top()
    try:
        result = asked.command(own)
        asked.result = await in_slices(result) if isinstance(result, Generator) else result
    except (ControlError, Refused) as error:
        asked.answer.set_exception(error)
        return False
    except Exception as error:
        log.exception("command.failed", job=asked.job)
        asked.answer.set_exception(error)
        if asked.job is not None:
            _set_aside(asked.job, error, draft)
        return False
    if not asked.dry_run:
        _record(asked, own, len(draft.batch.events))
        draft.merge(own)
    return True


def _record(asked: Asked[Any], own: Draft, events_before: int) -> None:
    """In the transaction of the change: neither is ever committed without the other."""
    if asked.origin is not None:
        record = asked.origin.record_of(own.batch, own.now_ms, events_before)
        asked.is_recorded = record is not None
        if record is not None:
            own.batch.audit.append(record)


def _set_aside(job: JobId, error: Exception, draft: Draft) -> None:
    own = draft.on_top()
    try:
        _change_to_set_aside(own, job, error)
    except Exception:
        log.exception("job.quarantine_failed", job=job)
        return
    draft.merge(own)


def setting_aside(job: JobId, error: Exception) -> Asked[Any]:
    """The command that sets a job aside. Nobody waits for its answer."""
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    answer.add_done_callback(lambda answered: answered.exception())
    command = partial(_change_to_set_aside, job=job, error=error)
    return Asked(command, answer, job=job, is_setting_aside=True)


def _change_to_set_aside(draft: Draft, job: JobId, error: Exception) -> None:
    draft.change(job, SetAside(f"{type(error).__name__}: {error}"))
