"""Which GPUs a task sees: those that it was given, and none if it asked for none."""

from __future__ import annotations

import pytest

from rota.dispatch.environment import environment_of
from rota.lifecycle.state import JobState, LiveTask, TaskPhase
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.resources import GpuRequest
from rota.model.run import JobSpec, Run
from rota.model.task import TaskSpec

pytestmark = pytest.mark.covers("decide-16")


def environment(gpu: GpuRequest, *devices: int) -> dict[str, str]:
    live = LiveTask(0, 1, NodeName("n1"), TaskPhase.BOUND, bound_ms=0, gpu_devices=devices)
    run = Run(("true",), environment=(("CUDA_VISIBLE_DEVICES", "7"),))
    spec = JobSpec(JobTemplate((TaskGroup(TaskSpec(gpu=gpu)),)), run, "j")
    return dict(environment_of(JobState(JobId("1"), 1, spec, 0, live=(live,)), live))


def test_who_asked_for_none_sees_none() -> None:
    found = environment(GpuRequest())
    assert [found[f"{kind}_VISIBLE_DEVICES"] for kind in ("CUDA", "ROCR", "HIP")] == ["", "", ""]
    assert "ROTA_GPU_SHARE" not in found


def test_whole_devices_are_seen_and_hip_counts_among_them() -> None:
    found = environment(GpuRequest(2), 3, 5)
    assert (found["CUDA_VISIBLE_DEVICES"], found["ROCR_VISIBLE_DEVICES"]) == ("3,5", "3,5")
    assert found["HIP_VISIBLE_DEVICES"] == "0,1"
    assert "ROTA_GPU_SHARE" not in found


def test_a_share_is_told() -> None:
    found = environment(GpuRequest(1, 300), 2)
    assert (found["CUDA_VISIBLE_DEVICES"], found["ROTA_GPU_SHARE"]) == ("2", "0.3")
