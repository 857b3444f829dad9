"""What was learnt from past jobs, in files: written by a simulation, or read from a trace."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from msgspec import MsgspecError, Raw, Struct, json

from rota.forecast.estimator import EstimatorState
from rota.forecast.history import run_times_of
from rota.intake.errors import InputError
from rota.intake.traces.files import read_workload
from rota.model.policy import NO_DEFAULTS, Defaults

VERSION = 1
MAX_BYTES = 512 * 2**20

_MARK = re.compile(rb'\s*\{\s*"rota_learnt"')
_MARK_BYTES = 100
_ANEW = "write it again: rota sim run … --estimates --learnt FILE"


class _Head(Struct):
    rota_learnt: int
    """The version of the format."""


class _LearntFile(_Head):
    sha256: str
    """Of the state as it was written: numbers that were changed could keep a plan from ever ending."""
    state: Raw


def read_history(
    path: str,
    defaults: Defaults = NO_DEFAULTS,
    *,
    max_bytes: int = MAX_BYTES,
    on_note: Callable[[str], None] = lambda _: None,
) -> EstimatorState:
    """Of a file that `write_learnt` wrote, what it holds; of a trace, how long its jobs ran."""
    if _is_learnt(path):
        return _read_learnt(path, max_bytes)
    workload = read_workload(path, max_bytes=max_bytes)
    for note in workload.notes:
        on_note(str(note))
    run_times = run_times_of(workload.jobs, defaults)
    if not run_times.classes:
        raise InputError(path, "no job in it has ended, so nothing can be learnt", "give a longer period")
    return EstimatorState(run_times)


def ensure_writable(path: str) -> None:
    """Said before a long replay, and not after it."""
    file = Path(path)
    if file.is_dir():
        raise InputError(path, "is a directory", "name a file in it")
    if file.exists() and not file.is_file():
        raise InputError(path, "is not a regular file", "name one")
    if not file.parent.is_dir():
        raise InputError(path, "there is no such folder", "make it, or name another")
    if not os.access(file.parent, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise InputError(path, "may not be written", "name a file elsewhere")


def write_learnt(path: str, state: EstimatorState) -> None:
    """Atomically: the old file stays until the new one is complete."""
    ensure_writable(path)
    content = json.encode(state.for_others())
    written = json.encode(_LearntFile(VERSION, sha256(content).hexdigest(), Raw(content))) + b"\n"
    part = Path(f"{path}.part")
    try:
        part.write_bytes(written)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise InputError(path, f"can't be written: {error.strerror}", "name a file elsewhere") from None


def _is_learnt(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as stream:
            return _MARK.match(stream.read(_MARK_BYTES)) is not None
    except OSError:
        # The reader of traces reports the error.
        return False


def _read_learnt(path: str, max_bytes: int) -> EstimatorState:
    with open(path, "rb") as stream:
        raw = stream.read(max_bytes + 1)
    if len(raw) > max_bytes:
        problem = f"has more than the limit of {max_bytes:,} bytes"
        raise InputError(path, problem, "raise the limit (--max-file-size)")
    try:
        version = json.decode(raw, type=_Head).rota_learnt
        if version != VERSION:
            problem = f"has version {version} of the format of what was learnt; this Rota knows {VERSION}"
            raise InputError(path, problem, _ANEW)
        file = json.decode(raw, type=_LearntFile)
        content = bytes(file.state)
        if sha256(content).hexdigest() != file.sha256:
            raise InputError(path, "was changed after it was written", _ANEW)
        return json.decode(content, type=EstimatorState)
    except (MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(path, f"is damaged: {error}", _ANEW) from None
