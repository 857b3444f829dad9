"""Which devices of a node a task gets."""

import numpy as np
import pytest

from rota.model.resources import GpuRequest
from rota.snapshot import rows
from rota.snapshot.gpu import assign_devices, likely_devices, refresh_gpu_rows
from rota.snapshot.rows import ResourceRows

pytestmark = pytest.mark.covers("decide-2")


@pytest.mark.parametrize(
    ("left", "share_milli", "device"),
    [
        ([1000, 1000], 300, 0),
        ([1000, 500], 300, 1),
        ([400, 300, 1000], 300, 1),
        ([400, 300, 1000], 350, 0),
        ([400, 300, 1000], 900, 2),
        ([300, 300], 300, 0),
    ],
)
def test_a_part_sits_on_the_device_that_it_fits_most_tightly(
    left: list[int], share_milli: int, device: int
) -> None:
    assert assign_devices(np.array(left, np.int32), GpuRequest(1, share_milli)) == (device,)


@pytest.mark.parametrize(
    ("left", "count", "devices"),
    [
        ([1000, 1000, 1000], 1, (0,)),
        ([999, 1000, 1000], 1, (1,)),
        ([1000, 0, 1000, 1000], 2, (0, 2)),
        ([1000, 1000], 2, (0, 1)),
    ],
)
def test_whole_ones_are_the_lowest_idle(left: list[int], count: int, devices: tuple[int, ...]) -> None:
    assert assign_devices(np.array(left, np.int32), GpuRequest(count)) == devices


@pytest.mark.parametrize(
    ("left", "asked"),
    [
        ([200, 200], GpuRequest(1, 300)),
        ([999, 999], GpuRequest(1)),
        ([1000, 999], GpuRequest(2)),
        ([], GpuRequest(1)),
        ([], GpuRequest(1, 10)),
    ],
)
def test_what_one_device_has_not_left_another_does_not_add(left: list[int], asked: GpuRequest) -> None:
    assert assign_devices(np.array(left, np.int32), asked) == ()


@pytest.mark.parametrize(
    ("left", "asked", "devices"),
    [
        ([1000, 400], GpuRequest(1, 300), (1,)),
        ([100, 200], GpuRequest(1, 300), (1,)),
        ([0, 500, 500], GpuRequest(2), (1, 2)),
        ([0, 0], GpuRequest(3), (0, 1)),
    ],
)
def test_a_task_that_runs_anyway_is_where_there_is_most_left(
    left: list[int], asked: GpuRequest, devices: tuple[int, ...]
) -> None:
    assert likely_devices(np.array(left, np.int32), asked) == devices


def test_a_nodes_gpu_rows_follow_from_its_devices() -> None:
    free = np.full((len(ResourceRows([])), 2), 7, np.int64)
    refresh_gpu_rows(free, np.array([[1000, 1000], [1000, 300]], np.int32), 1)
    assert free[[rows.GPU_MILLI, rows.GPU_IDLE, rows.GPU_BEST], 1].tolist() == [1300, 1, 1000]
    assert (free[:, 0] == 7).all()
    assert free[rows.CPU, 1] == 7
