"""What a job of Slurm asks for, by its trackable resources: `cpu=4,mem=16G,node=1,gres/gpu:a100=2`."""

import re
from collections.abc import Callable
from decimal import Decimal
from itertools import groupby
from typing import NamedTuple

from rota.intake.parts.tasks import MAX_DEVICES
from rota.intake.traces._rows import WHOLE, Row
from rota.model.job import TaskGroup
from rota.model.quantities import MAX_AMOUNT
from rota.model.resources import GpuRequest, Resources
from rota.model.task import TaskSpec

_TRES_COLUMNS = ("ReqTRES", "AllocTRES")
_CPU_COLUMNS = ("AllocCPUS", "NCPUS", "ReqCPUS")
SIZE_COLUMNS = (*_TRES_COLUMNS, *_CPU_COLUMNS)
"""Any of these tells how many CPUs a job has."""

MAX_NODES = 1_000_000

_GPU = "gres/gpu"
_MEMORY = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([KMGTPE]?)", re.ASCII)
_MEMORY_UNITS = {"": 2**20, **{letter: 1024**power for power, letter in enumerate("KMGTPE", start=1)}}
"""Slurm's letters are binary; without one it counts in megabytes."""


def groups_of(row: Row) -> tuple[TaskGroup, ...]:
    """One task a node; those that get equal parts of the whole are one group."""
    tres = _tres(row)
    node_count = row.whole("NNodes") if row["NNodes"] else tres.whole("node")
    if node_count > MAX_NODES:
        raise row.error("NNodes", f"{node_count:,} nodes are absurdly many", f"give at most {MAX_NODES:,}")
    gpus, models = _gpus(tres)
    if gpus > MAX_DEVICES * max(1, node_count):
        raise row.error(
            tres.column, f"{gpus} GPUs on {node_count} nodes", f"a node has at most {MAX_DEVICES}"
        )
    totals = (_cpus(row, tres), tres.memory_bytes(), gpus)
    parts = zip(*(_parts(total, max(1, node_count)) for total in totals), strict=True)
    groups = (
        TaskGroup(_spec(cpus, memory_bytes, gpus, models), sum(1 for _ in equal))
        for (cpus, memory_bytes, gpus), equal in groupby(parts)
    )
    return tuple(groups)


class _Tres(NamedTuple):
    row: Row
    column: str
    amounts: dict[str, str]

    def whole(self, name: str) -> int:
        """0 where it isn't named."""
        return self._read(name, WHOLE, lambda match: int(match[0]))

    def memory_bytes(self) -> int:
        size = self._read("mem", _MEMORY, lambda match: int(Decimal(match[1]) * _MEMORY_UNITS[match[2]]))
        if size > MAX_AMOUNT:
            raise self.row.error(self.column, f'"mem={self.amounts["mem"]}" is absurdly large', "correct it")
        return size

    def _read(self, name: str, form: re.Pattern[str], read: Callable[[re.Match[str]], int]) -> int:
        if name not in self.amounts:
            return 0
        match = form.fullmatch(self.amounts[name])
        if match is None:
            problem = f'"{name}={self.amounts[name]}" is not an amount'
            raise self.row.error(self.column, problem, "it is like cpu=4,mem=16G,node=1")
        return read(match)


def _tres(row: Row) -> _Tres:
    """What was asked for, or else what was given."""
    column = next((column for column in _TRES_COLUMNS if row[column]), "")
    amounts = {}
    for pair in row[column].split(",") if column else ():
        name, equals, amount = pair.partition("=")
        if not (name and equals and amount):
            problem = f'"{row[column]}" is not a list of resources'
            raise row.error(column, problem, "it is like cpu=4,mem=16G,node=1")
        amounts[name] = amount
    return _Tres(row, column, amounts)


def _cpus(row: Row, tres: _Tres) -> int:
    if "cpu" in tres.amounts:
        return tres.whole("cpu")
    for column in _CPU_COLUMNS:
        # Of a job that never ran nothing was allocated.
        if row[column] and (cpus := row.whole(column)):
            return cpus
    given = next((column for column in SIZE_COLUMNS if row[column]), "JobID")
    raise row.error(given, "the number of CPUs that the job requested is missing", "add ReqCPUS to sacct -o")


def _gpus(tres: _Tres) -> tuple[int, tuple[str, ...]]:
    """How many, and of which models if the job named any."""
    typed = [name for name in tres.amounts if name.startswith(f"{_GPU}:")]
    total = tres.whole(_GPU) if _GPU in tres.amounts else sum(map(tres.whole, typed))
    return total, tuple(sorted(name.removeprefix(f"{_GPU}:") for name in typed)) if total else ()


def _parts(total: int, count: int) -> list[int]:
    """As even as can be, the larger ones first."""
    part, rest = divmod(total, count)
    return [part + 1] * rest + [part] * (count - rest)


def _spec(cpus: int, memory_bytes: int, gpus: int, models: tuple[str, ...]) -> TaskSpec:
    gpu = GpuRequest(gpus, models=models) if gpus else GpuRequest()
    return TaskSpec(Resources(cpu_milli=cpus * 1000, memory_bytes=memory_bytes), gpu=gpu)
