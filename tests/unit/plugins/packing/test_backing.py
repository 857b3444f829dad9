from __future__ import annotations

import numpy as np
import pytest

from rota.plugins.packing.backing import Backing


def lacking(backing: Backing, free: int, gpu_milli: int) -> float:
    return float(backing.lacking_milli(np.array([free]), np.array([gpu_milli]))[0])


MIXED = Backing([(12_000, 1000, 60), (4_000, 1000, 40), (32_000, 0, 10)])
EVEN = Backing([(10_000, 1000, 10)])


def test_gpus_without_any_cpu_are_not_backed() -> None:
    assert lacking(MIXED, 0, 8000) == pytest.approx(8000, rel=0.01)


def test_plenty_of_cpu_backs_them_all() -> None:
    assert lacking(MIXED, 200_000, 8000) == pytest.approx(0, abs=0.1)
    assert lacking(MIXED, 0, 0) == 0


def test_more_cpu_never_backs_less() -> None:
    found = [lacking(MIXED, free, 4000) for free in range(0, 60_000, 500)]
    assert found == sorted(found, reverse=True)


def test_equal_tasks_need_what_the_leanest_part_of_the_mean_is() -> None:
    assert lacking(EVEN, 28_000, 4000) < lacking(EVEN, 14_000, 4000) < 2600


def test_without_gpu_tasks_nothing_is_lacking() -> None:
    assert lacking(Backing([(1000, 0, 5)]), 0, 1000) == 0
    assert lacking(Backing([]), 0, 1000) == 0
