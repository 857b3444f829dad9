"""The mix of tasks that a packing plugin expects: how many there are of each kind.

The setting `mix` gives it as a JSON list of `[tasks, cpu milli, memory MiB, GPUs, milli of each, models]`,
models joined by `|`, as in `[[1047, 3152, 12288, 1, 810, ""], [18, 88000, 327680, 8, 1000, "G2|G3"]]`.
Without it, the tasks that run and wait are the mix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import DecodeError, json

from rota.model.resources import WHOLE_GPU_MILLI
from rota.model.task import TaskSpec

MIB = 2**20


class Kind(NamedTuple):
    """What one task asks for."""

    cpu_milli: int
    memory_bytes: int
    gpus: int
    share_milli: int
    """Of each GPU; 0 without."""
    models: tuple[str, ...]

    @property
    def gpu_milli(self) -> int:
        return self.gpus * self.share_milli


Mix = Counter[Kind]


def kind_of(spec: TaskSpec) -> Kind:
    asked = spec.requests.plus(spec.overhead)
    gpu = spec.gpu
    share_milli = gpu.share_milli if gpu.count else 0
    return Kind(asked.cpu_milli, asked.memory_bytes, gpu.count, share_milli, gpu.models)


def mix_of(tasks: Iterable[tuple[TaskSpec, int]]) -> Mix:
    mix: Mix = Counter()
    for spec, count in tasks:
        mix[kind_of(spec)] += count
    return mix


def parse_mix(text: str) -> Mix:
    """The setting `mix`. Raises ValueError with what is wrong."""
    try:
        entries = json.decode(text, type=list[tuple[int, int, int, int, int, str]])
    except DecodeError as error:
        raise ValueError(f"mix: {error}") from None
    mix: Mix = Counter()
    for tasks, cpu_milli, memory_mib, gpus, share_milli, models in entries:
        kind = Kind(cpu_milli, memory_mib * MIB, gpus, share_milli, _models(models))
        if min(tasks, *kind[:4]) < 0 or share_milli > WHOLE_GPU_MILLI or (gpus > 0) != (share_milli > 0):
            raise ValueError(f"mix: no such task can be: {[tasks, *kind]}")
        mix[kind] += tasks
    return mix


def format_mix(mix: Mix) -> str:
    """As `parse_mix` reads it."""
    entries = [
        (tasks, kind.cpu_milli, kind.memory_bytes // MIB, kind.gpus, kind.share_milli, "|".join(kind.models))
        for kind, tasks in sorted(mix.items())
    ]
    return json.encode(entries).decode()


def _models(text: str) -> tuple[str, ...]:
    return tuple(text.split("|")) if text else ()
