"""Traces in tests: those that are kept as data, and small ones written on the spot."""

from pathlib import Path

import pytest

from rota.intake.errors import InputError
from rota.intake.traces.files import NO_OPTIONS, TraceOptions, read_workload
from rota.model.workload import SimJob, Workload, WorkloadNote

DATA = Path(__file__).parents[3] / "data" / "traces"


def read_data(name: str, options: TraceOptions = NO_OPTIONS) -> Workload:
    return read_workload(DATA / name, options=options)


def read(folder: Path, text: str | bytes, name: str, options: TraceOptions = NO_OPTIONS) -> Workload:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_workload(path, options=options)


def refusal(folder: Path, text: str | bytes, name: str, options: TraceOptions = NO_OPTIONS) -> InputError:
    with pytest.raises(InputError) as caught:
        read(folder, text, name, options)
    return caught.value


def by_id(workload: Workload) -> dict[str, SimJob]:
    return {one.job.id: one for one in workload.jobs}


def left_out(workload: Workload, words: str) -> WorkloadNote:
    [found] = [note for note in workload.notes if words in note.reason]
    return found
