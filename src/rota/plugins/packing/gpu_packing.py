"""Rota's way to pack GPUs: place where the least worth is lost.

A node's worth is made of
- what is left of each of its GPUs, by the shadow prices of the best packing of the mix (`cutting.py`);
- a little for each idle GPU, so that of equal choices the one that opens no GPU wins;
- some for room for tasks of several GPUs, by how much of the mix these are;
less
- GPUs that its CPU or memory can't be expected to back (`backing.py`);
and GPUs of a model that many tasks insist on cost those more that don't.

Small differences in backing are rounded away: while a node has plenty, they say nothing yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from rota.engine.plugin import FULL_SCORE, Int64s, Plugin, StateView, TaskView
from rota.model.gpu_models import is_model
from rota.model.resources import WHOLE_GPU_MILLI
from rota.model.task import TaskSpec
from rota.plugins.packing.backing import Backing
from rota.plugins.packing.cutting import worth_milli
from rota.plugins.packing.mix import Mix, mix_of, parse_mix
from rota.snapshot import rows
from rota.snapshot.arrays import Floats
from rota.snapshot.nodes import NodeColumns

_STEP_MILLI = 20
"""One point of score, in thousandths of a GPU."""
_BACKING_STEP_MILLI = 200
_IDLE_MILLI = 25
_ROOM_WEIGHT = 0.3
_CPU_WEIGHT = 1.0
_MEMORY_WEIGHT = 0.5
_SCARCITY_WEIGHT = 0.5


class GpuPacking(Plugin):
    name = "gpu-packing"

    def __init__(self, settings: dict[str, str]) -> None:
        super().__init__(settings)
        self._mix = parse_mix(settings["mix"]) if "mix" in settings else None

    def prepare(self, kinds: Sequence[tuple[TaskSpec, int]], nodes: NodeColumns) -> None:
        mix = mix_of(kinds) if self._mix is None else self._mix
        shares: Counter[int] = Counter()
        for kind, tasks in mix.items():
            if kind.gpus == 1:
                shares[kind.share_milli] += tasks
        self._worth = np.array(worth_milli(shares), dtype=np.int64)
        self._room = _Room(mix)
        self._cpu = Backing([(kind.cpu_milli, kind.gpu_milli, tasks) for kind, tasks in mix.items()])
        self._memory = Backing([(kind.memory_bytes, kind.gpu_milli, tasks) for kind, tasks in mix.items()])
        self._scarcity = _scarcity(mix, nodes)

    def score_rows(self, task: TaskView, state: StateView, positions: Int64s) -> Int64s:
        points = self._packing_points(task, state, positions).max(axis=1)
        points += self._backing_points(task, state, positions) * (_BACKING_STEP_MILLI // _STEP_MILLI)
        # The task's own size back, as it is the same wherever it goes: scores stay in the middle.
        points += FULL_SCORE // 2 + task.spec.gpu.total_milli // _STEP_MILLI
        clipped: Int64s = np.clip(points, 0, FULL_SCORE)
        return clipped

    def choose_devices(self, task: TaskView, state: StateView, position: int) -> tuple[int, ...] | None:
        if not task.spec.gpu.is_fraction:
            return None
        at = np.array([position])
        points, left = self._packing_points(task, state, at)[0], state.gpu_free[position]
        # Of equally good ones that with the least left, then the first.
        return (int(np.lexsort((left, -points))[0]),)

    def _packing_points(self, task: TaskView, state: StateView, at: Int64s) -> Int64s:
        """[node, device] what becomes of the GPUs' worth; one column unless the task gets a share."""
        gpu = task.spec.gpu
        idle, cpu = state.free[rows.GPU_IDLE, at], state.free[rows.CPU, at]
        cpu_after = cpu - task.demand.take[rows.CPU]
        before = self._room.worth(idle, cpu)
        if not gpu.is_fraction:
            lost = before - self._room.worth(idle - gpu.count, cpu_after)
            lost += gpu.count * (int(self._worth[-1]) + _IDLE_MILLI)
            return _rounded(-lost, _STEP_MILLI)[:, None]
        left = np.clip(state.gpu_free[at], 0, WHOLE_GPU_MILLI)
        opens = left == WHOLE_GPU_MILLI
        lost_room = np.where(
            opens,
            (before - self._room.worth(idle - 1, cpu_after) + _IDLE_MILLI)[:, None],
            (before - self._room.worth(idle, cpu_after))[:, None],
        )
        lost = lost_room + self._worth[left] - self._worth[np.maximum(left - gpu.share_milli, 0)]
        return np.where(left >= gpu.share_milli, _rounded(-lost, _STEP_MILLI), -FULL_SCORE)

    def _backing_points(self, task: TaskView, state: StateView, at: Int64s) -> Int64s:
        take = task.demand.take
        gpu = state.free[rows.GPU_MILLI, at]
        gpu_after = gpu - take[rows.GPU_MILLI]
        lost = _SCARCITY_WEIGHT * self._scarcity[at] * take[rows.GPU_MILLI]
        for row, weight, backing in (
            (rows.CPU, _CPU_WEIGHT, self._cpu),
            (rows.MEMORY, _MEMORY_WEIGHT, self._memory),
        ):
            free = state.free[row, at]
            lost += weight * (
                backing.lacking_milli(free - take[row], gpu_after) - backing.lacking_milli(free, gpu)
            )
        return _rounded(-lost, _BACKING_STEP_MILLI)


def _rounded(amount: Int64s | Floats, step: int) -> Int64s:
    """To whole steps, halves up."""
    return np.floor_divide(amount + step // 2, step).astype(np.int64)


class _Room:
    """What room for tasks of several GPUs is worth."""

    def __init__(self, mix: Mix) -> None:
        total = sum(kind.gpu_milli * tasks for kind, tasks in mix.items())
        large = sorted((kind, tasks) for kind, tasks in mix.items() if kind.gpus > 1)
        worth = [_ROOM_WEIGHT * kind.gpu_milli * (kind.gpu_milli * tasks / total) for kind, tasks in large]
        self._gpus = np.array([[kind.gpus] for kind, _ in large], dtype=np.int64).reshape(-1, 1)
        self._cpu = np.array([[max(1, kind.cpu_milli)] for kind, _ in large], dtype=np.int64).reshape(-1, 1)
        self._worth = np.array(worth, dtype=np.float64)

    def worth(self, idle: Int64s, cpu: Int64s) -> Int64s:
        tasks = np.minimum(np.maximum(idle, 0) // self._gpus, np.maximum(cpu, 0) // self._cpu)
        # Not by a matrix product: libraries differ in the order of its sums.
        worth: Floats = (tasks * self._worth[:, None]).sum(axis=0)
        return np.rint(worth).astype(np.int64)


def _scarcity(mix: Mix, nodes: NodeColumns) -> Floats:
    """Of each node: which part of its GPU model goes to tasks that insist on it, if the mix fills the
    cluster. Tasks that would take one of several models ask each for its share of these."""
    models = nodes.gpu_model
    capacity_milli: Counter[str] = Counter()
    for model, milli in zip(models.texts(), nodes.gpu_capacity.sum(axis=1).tolist(), strict=True):
        if model is not None:
            capacity_milli[model] += milli
    bound: Counter[str] = Counter()
    for kind, tasks in sorted(mix.items()):
        asked = [
            model
            for model, milli in capacity_milli.items()
            if milli and any(is_model(one, model) for one in kind.models)
        ]
        among = sum(capacity_milli[model] for model in asked)
        for model in asked:
            bound[model] += kind.gpu_milli * tasks * capacity_milli[model] // among
    total = sum(kind.gpu_milli * tasks for kind, tasks in mix.items())
    filled = capacity_milli.total() / total if total else 0.0
    by_model = [
        bound[model] * filled / capacity_milli[model] if capacity_milli[model] else 0.0
        for model in models.values
    ]
    # Nodes without GPUs have the code -1.
    return np.array([*by_model, 0.0], dtype=np.float64)[models.codes]
