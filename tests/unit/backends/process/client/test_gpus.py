"""GPUs as NVIDIA's tool lists them, by a stand-in that prints what the real one printed."""

from pathlib import Path

import pytest

from rota.backends.backend import TaskRef, TaskStart
from rota.backends.process.client.gpus import FoundGpus, find_gpus, found_in, with_names_of
from rota.model.ids import JobId, NodeName
from rota.model.node import Gpus
from rota.model.run import Run
from tests.kit.nvidia_smi import MISMATCH, NO_DRIVER, listed, put_nvidia_smi

pytestmark = pytest.mark.covers("decide-16")

PARTS = (
    "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f",
    "MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb",
)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which programs are looked for."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_one_h200(tools: Path) -> None:
    put_nvidia_smi(tools, listed("h200"))
    assert find_gpus() == FoundGpus(Gpus(1, "NVIDIA H200"))


def test_eight_of_a_kind(tools: Path) -> None:
    put_nvidia_smi(tools, listed("8-h100"))
    assert find_gpus() == FoundGpus(Gpus(8, "NVIDIA H100 80GB HBM3"))


def test_parts_of_a_gpu_are_devices_and_the_gpu_is_none(tools: Path) -> None:
    put_nvidia_smi(tools, listed("a100-mig"))
    found = find_gpus()
    assert found.gpus == Gpus(2, "NVIDIA A100-SXM4-40GB MIG 1g.5gb")
    assert found.ids == PARTS
    assert "1 NVIDIA A100-SXM4-40GB MIG 3g.20gb, 1 NVIDIA A100-SXM4-40GB" in found.trouble


def test_where_the_tool_isnt_installed_there_are_none(tools: Path) -> None:
    assert find_gpus() == FoundGpus()


def test_a_driver_without_a_device_is_no_trouble(tools: Path) -> None:
    put_nvidia_smi(tools, "No devices were found\n", status=6)
    assert find_gpus() == FoundGpus()


@pytest.mark.parametrize(
    ("says", "status", "words"),
    [
        (NO_DRIVER, 9, "couldn't communicate with the NVIDIA driver"),
        (MISMATCH, 18, "Driver/library version mismatch"),
        ("", 127, "nvidia-smi ended with 127"),
    ],
)
def test_a_driver_that_fails_is_told(tools: Path, says: str, status: int, words: str) -> None:
    put_nvidia_smi(tools, says, status)
    found = find_gpus()
    assert found.gpus == Gpus()
    assert words in found.trouble
    assert "\n" not in found.trouble


def test_a_tool_that_cant_be_run_is_told(tools: Path) -> None:
    (tools / "nvidia-smi").write_text("#!/bin/sh\n")
    assert "Permission denied" in find_gpus().trouble


def test_unlike_gpus_are_known_by_uuid_and_most_of_a_kind_are_offered() -> None:
    unlike = (
        "GPU 0: NVIDIA T400 4GB (UUID: GPU-a)\n"
        "GPU 1: NVIDIA A100-PCIE-40GB (UUID: GPU-b)\n"
        "GPU 2: NVIDIA A100-PCIE-40GB (UUID: GPU-c)\n"
    )
    assert found_in(unlike) == FoundGpus(
        Gpus(2, "NVIDIA A100-PCIE-40GB"),
        ("GPU-b", "GPU-c"),
        "GPUs of another model are left out: 1 NVIDIA T400 4GB",
    )


@pytest.mark.parametrize("text", ["", "nonsense\n", "  MIG 1g.5gb     Device  0: (UUID: MIG-x)\n"])
def test_what_is_no_list_lists_nothing(text: str) -> None:
    assert found_in(text) == FoundGpus()


def start(**environment: str) -> TaskStart:
    ref = TaskRef(JobId("1"), 0, 1)
    return TaskStart(ref, NodeName("n1"), Run(("true",)), tuple(sorted(environment.items())))


def test_a_task_finds_its_devices_by_their_names_here() -> None:
    started = with_names_of(PARTS, start(CUDA_VISIBLE_DEVICES="1,0", ROTA_RANK="0"))
    assert dict(started.environment) == {"CUDA_VISIBLE_DEVICES": f"{PARTS[1]},{PARTS[0]}", "ROTA_RANK": "0"}


@pytest.mark.parametrize("ids", [(), PARTS])
def test_who_has_none_is_told_so_whatever_they_are_called(ids: tuple[str, ...]) -> None:
    nothing = start(CUDA_VISIBLE_DEVICES="")
    assert with_names_of(ids, nothing) is nothing
    assert with_names_of((), start(CUDA_VISIBLE_DEVICES="0")) == start(CUDA_VISIBLE_DEVICES="0")
