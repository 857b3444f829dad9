"""Devices of one node: which of them a task gets, and what that leaves."""

from __future__ import annotations

import numpy as np

from rota.model.resources import WHOLE_GPU_MILLI, GpuRequest
from rota.snapshot import rows
from rota.snapshot.arrays import Int32s, Int64s


def assign_devices(device_free: Int32s, request: GpuRequest) -> tuple[int, ...]:
    """A fraction sits on the fitting device with the least left, so that whole ones stay whole;
    whole requests take the idle devices with the lowest numbers. Empty: it doesn't fit."""
    left = device_free.tolist()
    if request.is_fraction:
        fitting = [(free, device) for device, free in enumerate(left) if free >= request.share_milli]
        return (min(fitting)[1],) if fitting else ()
    idle = [device for device, free in enumerate(left) if free >= WHOLE_GPU_MILLI]
    return tuple(idle[: request.count]) if len(idle) >= request.count else ()


def likely_devices(device_free: Int32s, request: GpuRequest) -> tuple[int, ...]:
    """Devices for a task that runs somewhere on the node: some that fit, or if the node is
    overbooked, those with the most left."""
    fitting = assign_devices(device_free, request)
    if fitting:
        return fitting
    emptiest = sorted(range(len(device_free)), key=lambda device: (-int(device_free[device]), device))
    return tuple(sorted(emptiest[: request.count]))


def refresh_gpu_rows(free: Int64s, gpu_free: Int32s, at: int) -> None:
    """The three GPU rows of a node follow from its devices."""
    devices = gpu_free[at].tolist()
    free[rows.GPU_MILLI, at] = sum(max(0, left) for left in devices)
    free[rows.GPU_IDLE, at] = sum(1 for left in devices if left >= WHOLE_GPU_MILLI)
    free[rows.GPU_BEST, at] = max(devices, default=0)


def gpu_rows(devices: Int32s) -> tuple[tuple[int, Int64s], ...]:
    """Of devices [..., device] the rows that follow from them, each with its number."""
    left = devices.astype(np.int64)
    return (
        (rows.GPU_MILLI, np.maximum(left, 0).sum(axis=-1)),
        (rows.GPU_IDLE, (left >= WHOLE_GPU_MILLI).sum(axis=-1)),
        (rows.GPU_BEST, left.max(axis=-1, initial=0)),
    )


def refresh_all_gpu_rows(free: Int64s, gpu_free: Int32s) -> None:
    for row, values in gpu_rows(gpu_free):
        free[row] = values
