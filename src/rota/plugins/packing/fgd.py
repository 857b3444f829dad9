"""Fragmentation gradient descent: the node where the amount of GPU that is of no use grows least.

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
Descent", USENIX ATC 2023. What is left on a node is a fragment to a kind of task that can't use it; a
node's fragmentation is the mean of that over the kinds of the mix. The score in whole percents is part of
the policy: it makes ties, and ties concentrate load on the first nodes. Sums are taken in the order of
the authors' simulator, as a difference of exactly 0 and one of -1e-13 score differently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rota.engine.plugin import Bools, Int64s, Plugin, StateView, TaskView
from rota.model.gpu_models import is_model
from rota.model.resources import WHOLE_GPU_MILLI
from rota.model.task import TaskSpec
from rota.plugins.packing.mix import Mix, mix_of, parse_mix
from rota.snapshot import rows
from rota.snapshot.arrays import Floats, Int32s
from rota.snapshot.nodes import NodeColumns

_COVERED_PERCENT = 95


class _Typical(NamedTuple):
    """A kind of task as the policy sees it: memory doesn't count."""

    cpu_milli: int
    share_milli: int
    gpus: int
    models: str


def typical(mix: Mix) -> list[tuple[_Typical, float]]:
    """The most frequent kinds that together are 95 % of the tasks, and their weights."""
    count: Counter[_Typical] = Counter()
    for kind, tasks in mix.items():
        count[_Typical(kind.cpu_milli, kind.share_milli, kind.gpus, "|".join(kind.models))] += tasks
    total = count.total()
    kept: list[tuple[_Typical, int]] = []
    covered = 0
    for one, tasks in sorted(count.items(), key=lambda item: (item[1], item[0]), reverse=True):
        if covered * 100 >= _COVERED_PERCENT * total:
            break
        kept.append((one, tasks))
        covered += tasks
    return [(one, (tasks / total) / (covered / total)) for one, tasks in kept]


class FragmentationGradient(Plugin):
    name = "fgd"

    def __init__(self, settings: dict[str, str]) -> None:
        super().__init__(settings)
        self._mix = parse_mix(settings["mix"]) if "mix" in settings else None
        self._fragments = _Fragments([], ())

    def prepare(self, kinds: Sequence[tuple[TaskSpec, int]], nodes: NodeColumns) -> None:
        mix = mix_of(kinds) if self._mix is None else self._mix
        self._fragments = _Fragments(typical(mix), nodes.gpu_model.values)

    def score_rows(self, task: TaskView, state: StateView, positions: Int64s) -> Int64s:
        scores = np.zeros(len(positions), dtype=np.int64)
        # Where it doesn't fit, it isn't worth the computation.
        fitting = (state.free[:, positions] >= task.demand.need[:, None]).all(axis=0)
        at = positions[fitting]
        if len(at):
            scores[fitting] = self._by_device(task, state, at).max(axis=1)
        return scores

    def choose_devices(self, task: TaskView, state: StateView, position: int) -> tuple[int, ...] | None:
        if not task.spec.gpu.is_fraction:
            return None
        by_device = self._by_device(task, state, np.array([position]))[0]
        # The first of the best.
        return (int(by_device.argmax()),)

    def _by_device(self, task: TaskView, state: StateView, at: Int64s) -> Int64s:
        """[node, device] the score with the task on this device; one column for whole devices."""
        left = state.gpu_free[at].astype(np.int64)
        cpu = state.free[rows.CPU, at]
        model = state.nodes.gpu_model.codes[at]
        before = self._fragments.sums(left, cpu, model)
        cpu_after = cpu - int(task.demand.take[rows.CPU])
        gpu = task.spec.gpu
        if not gpu.is_fraction:
            after = self._fragments.sums(_without_idle(left, gpu.count), cpu_after, model)
            return _score(before - after)[:, None]
        node, device = np.nonzero((left >= gpu.share_milli) & _first_of_equals(left))
        rest = left[node]
        rest[np.arange(len(node)), device] -= gpu.share_milli
        scores = np.zeros(left.shape, dtype=np.int64)
        after = self._fragments.sums(rest, cpu_after[node], model[node])
        scores[node, device] = _score(before[node] - after)
        return scores


def _score(gain_milli: Floats) -> Int64s:
    return np.floor(100 / (1 + np.exp(-gain_milli / 1000))).astype(np.int64)


def _first_of_equals(left: Int64s) -> Bools:
    """[node, device] False where a lower device of the node has just as much left."""
    first = np.ones(left.shape, dtype=np.bool_)
    for device in range(1, left.shape[1]):
        first[:, device] = (left[:, :device] != left[:, device : device + 1]).all(axis=1)
    return first


def _without_idle(left: Int64s, count: int) -> Int64s:
    """What is left once `count` idle devices of each node, the first, are taken."""
    if not count:
        return left
    idle = left >= WHOLE_GPU_MILLI
    return np.where(idle & (idle.cumsum(axis=1) <= count), 0, left)


def _is_among(model: str, asked: Sequence[str]) -> bool:
    return any(is_model(one, model) for one in asked)


class _Fragments:
    """The fragmentation of nodes, for one list of typical kinds."""

    def __init__(self, kinds: Sequence[tuple[_Typical, float]], models: Sequence[str]) -> None:
        self._shares, share = np.unique(
            np.array([kind.share_milli for kind, _ in kinds], dtype=np.int64), return_inverse=True
        )
        weight = np.array([weight for _, weight in kinds], dtype=np.float64)
        cpu = np.array([kind.cpu_milli for kind, _ in kinds], dtype=np.int64)
        gpus = np.array([kind.gpus for kind, _ in kinds], dtype=np.int64)
        # One more model at the end: of nodes without GPUs, whose code is -1.
        allowed = np.array(
            [
                [not kind.models or _is_among(model, kind.models.split("|")) for model in (*models, "")]
                for kind, _ in kinds
            ],
            dtype=np.bool_,
        ).reshape(len(kinds), len(models) + 1)
        self._on_gpu = _Group(gpus > 0, share, weight, cpu, gpus, allowed)
        self._on_cpu = _Group(gpus == 0, share, weight, cpu, gpus, allowed)

    def sums(self, left: Int64s, cpu: Int64s, model: Int32s) -> Floats:
        """Of each node, by what is left of its devices and its CPU."""
        total = left.sum(axis=1)
        roomy = left[None, :, :] >= self._shares[:, None, None]
        room = roomy.sum(axis=2)
        small = np.where(roomy, 0, left[None, :, :]).sum(axis=2)
        gpu, other = self._on_gpu, self._on_cpu
        allowed = gpu.allowed[:, model]
        enough_gpu = room[gpu.share] >= gpu.gpus[:, None]
        enough_cpu = cpu >= gpu.cpu[:, None]
        wasted = gpu.weight[:, None] * total
        fits = allowed & enough_gpu & enough_cpu
        lacking = allowed & ~fits
        partial = np.where(enough_gpu, gpu.weight[:, None] * small[gpu.share], wasted)
        cpu_only = other.weight[:, None] * total
        cpu_fits = cpu >= other.cpu[:, None]
        # Reducing over the first axis adds in the order of the kinds.
        lacks_both = np.where(lacking & ~enough_gpu & ~enough_cpu, wasted, 0.0).sum(axis=0)
        lacks_gpu = np.where(fits | (lacking & ~enough_gpu & enough_cpu), partial, 0.0).sum(axis=0)
        lacks_cpu = np.where(lacking & enough_gpu, wasted, 0.0).sum(axis=0)
        only_cpu_fits = np.where(cpu_fits, cpu_only, 0.0).sum(axis=0)
        only_cpu_does_not = np.where(cpu_fits, 0.0, cpu_only).sum(axis=0)
        wrong_model = np.where(allowed, 0.0, wasted).sum(axis=0)
        sums: Floats = lacks_both + lacks_gpu + lacks_cpu + only_cpu_fits + only_cpu_does_not + wrong_model
        return sums


class _Group:
    """Those kinds that are in a mask, as columns, in the order of the list."""

    def __init__(
        self, mask: Bools, share: Int64s, weight: Floats, cpu: Int64s, gpus: Int64s, allowed: Bools
    ) -> None:
        self.share, self.weight, self.cpu, self.gpus = share[mask], weight[mask], cpu[mask], gpus[mask]
        self.allowed = allowed[mask]
