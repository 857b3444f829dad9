"""The baseline: for each task one column-wise resource filter, one least-loaded score and an argmax
over all nodes, and nothing else: no queue, no selectors, no taints, no affinity, no reasons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]


class BareScan:
    def __init__(self, cpu_milli: Int64s, memory_bytes: Int64s) -> None:
        self._cpu = cpu_milli.copy()
        self._memory = memory_bytes.copy()
        self._cpu_share = 1.0 / cpu_milli
        self._memory_share = 1.0 / memory_bytes

    def place(self, tasks: list[tuple[int, int]]) -> list[int]:
        cpu, memory = self._cpu, self._memory
        cpu_share, memory_share = self._cpu_share, self._memory_share
        placed = []
        for cpu_milli, memory_bytes in tasks:
            fits = (cpu >= cpu_milli) & (memory >= memory_bytes)
            score = (cpu - cpu_milli) * cpu_share + (memory - memory_bytes) * memory_share
            at = int(np.where(fits, score, -1.0).argmax())
            if fits[at]:
                cpu[at] -= cpu_milli
                memory[at] -= memory_bytes
                placed.append(at)
            else:
                placed.append(-1)
        return placed
