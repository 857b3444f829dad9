"""Best fit by CPU and GPU: the node that has the least left once the task is there.

As in the experiments of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
Fragmentation Gradient Descent", USENIX ATC 2023: what is left counts in shares of a large node, and whole
percents make ties frequent, which go to the first node.
"""

from __future__ import annotations

import numpy as np

from rota.engine.plugin import Int64s, Plugin, StateView, TaskView
from rota.snapshot import rows

_LARGE_CPU_MILLI = 128_000
_LARGE_GPU_MILLI = 8_000


class BestFitGpu(Plugin):
    name = "best-fit-gpu"

    def score_rows(self, task: TaskView, state: StateView, positions: Int64s) -> Int64s:
        take = task.demand.take
        cpu = state.free[rows.CPU, positions] - take[rows.CPU]
        gpu = state.free[rows.GPU_MILLI, positions] - take[rows.GPU_MILLI]
        score = np.floor(100 * (1 - (0.5 * cpu / _LARGE_CPU_MILLI + 0.5 * gpu / _LARGE_GPU_MILLI)))
        # A node that is larger than large, or one that the task doesn't fit on.
        clipped: Int64s = np.clip(score, 0, 100).astype(np.int64)
        return clipped
