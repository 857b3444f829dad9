"""Recorded cycles, read back: each with all that it was decided by, checked against its hash."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import MsgspecError
from msgspec.msgpack import Decoder

from rota import __version__
from rota.intake.errors import InputError
from rota.loop.records import format_1
from rota.loop.records.cycle_entry import CycleEntry, read_changes, read_plan
from rota.loop.records.cycle_files import CycleFile, CycleReader, Frame, cycle_files
from rota.loop.records.inputs import Delta, Inputs
from rota.loop.records.plugin_origins import PluginOrigin
from rota.model.job import JobTemplate
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.model.vocabulary import read_coded


@dataclass(frozen=True, eq=False)
class Cycle:
    """Good until the next one is read: the inputs go along with the changes."""

    number: int
    now_ms: int
    inputs: Inputs
    input_hash: bytes
    policy: Policy
    plan: Plan
    plugins: tuple[PluginOrigin, ...]
    version: str
    """Of the Rota that recorded it."""
    delta: Delta
    is_base: bool
    """The delta is from nothing, and not from the cycle before."""


class CycleFolder:
    """Damage is noted in `damage`, and reading continues with the next file."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            problem = "this is a file" if folder.exists() else "there is no such folder"
            raise InputError(str(folder), problem, "give a folder that --record wrote")
        self._folder = folder
        self._files = cycle_files(folder)
        if not self._files:
            raise InputError(str(folder), "no cycles are recorded here", "give a folder that --record wrote")
        self.damage: list[InputError] = []

    def cycles(self, up_to: int | None = None) -> Iterator[Cycle]:
        """All that can be read, or only those up to a cycle from the last complete one before it."""
        ends = [file.first for file in self._files[1:]]
        for file, end in zip(self._files, [*ends, None], strict=True):
            if up_to is not None and end is not None and end <= up_to:
                continue
            next_number = file.first
            try:
                for cycle in _cycles_of(file):
                    if up_to is not None and cycle.number > up_to:
                        return
                    next_number = cycle.number + 1
                    yield cycle
                lost = None
            except InputError as error:
                lost = error
            self._note_loss(lost, next_number, end)

    def _note_loss(self, error: InputError | None, first: int, end: int | None) -> None:
        """`first`, `end`: the cycle that should have come next, and the one that the next file has."""
        if error is not None:
            lost = _lost_text(first, end)
            self.damage.append(InputError(error.file, f"{error.problem}; {lost}", error.remedy))
        elif end is not None and end != first:
            problem = f"{_lost_text(first, end)}: a file is missing, or ends early"
            self.damage.append(InputError(str(self._folder), problem))


def _lost_text(first: int, end: int | None) -> str:
    if end is None:
        return f"cycle {first:,} and whatever followed it can't be replayed"
    if end - first > 1:
        return f"cycles {first:,} to {end - 1:,} can't be replayed"
    return f"cycle {first:,} can't be replayed"


def _cycles_of(file: CycleFile) -> Iterator[Cycle]:
    """Raises InputError at what can't be read."""
    reader = CycleReader(file.path)
    unfolding = _Unfolding(file.first, reader)
    for frame in reader.frames():
        yield unfolding.next(frame)


class _Unfolding:
    """One file's entries, each built on those before."""

    def __init__(self, first: int, reader: CycleReader) -> None:
        self._reader = reader
        read = format_1.read_reason if reader.format == 1 else read_coded
        self._decoder = Decoder(CycleEntry, dec_hook=read)
        self._number = first
        self._is_base = True
        self._inputs = Inputs()
        self._templates: list[JobTemplate] = []
        self._policy: Policy | None = None
        self._plugins: tuple[PluginOrigin, ...] = ()
        self._plan = Plan()

    def next(self, frame: Frame) -> Cycle:
        try:
            entry = self._decoder.decode(frame.payload)
            delta = read_changes(entry.changes, self._templates)
            self._inputs.apply(delta)
            self._plan = read_plan(entry.plan, self._plan)
        except (MsgspecError, LookupError, ValueError) as error:
            raise self._foreign(frame, f"the entry can't be understood: {error}") from None
        if entry.number != self._number:
            raise self._reader.error(
                frame.at_byte, f"cycle {entry.number:,} where cycle {self._number:,} should be"
            )
        if entry.policy is not None:
            self._policy, self._plugins = entry.policy, entry.plugins
        if self._policy is None:
            raise self._reader.error(frame.at_byte, "the file begins without a policy")
        if self._inputs.hash_with(self._policy, entry.now_ms) != entry.input_hash:
            raise self._foreign(frame, "what was read hasn't the hash that was recorded with it")
        is_base, self._is_base = self._is_base, False
        self._number += 1
        return Cycle(
            entry.number,
            entry.now_ms,
            self._inputs,
            entry.input_hash,
            self._policy,
            self._plan,
            self._plugins,
            self._reader.version,
            delta,
            is_base,
        )

    def _foreign(self, frame: Frame, problem: str) -> InputError:
        remedy = ""
        if self._reader.version != __version__:
            remedy = (
                f"it was recorded by rota {self._reader.version}, this is {__version__}: try that version"
            )
        return self._reader.error(frame.at_byte, problem, remedy)
