"""A stand-in for NVIDIA's tool: prints what the real one printed."""

from __future__ import annotations

from pathlib import Path

LISTS = Path(__file__).parents[1] / "data" / "nvidia-smi"
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
    "NVIDIA driver is installed and running.\n"
)
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.129\n"


def listed(name: str) -> str:
    return (LISTS / f"{name}.txt").read_text()


def put_nvidia_smi(folder: Path, says: str, status: int = 0) -> None:
    """Into a folder of PATH. As the real one, it lists devices when it is called with -L."""
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "nvidia-smi.txt"
    text.write_text(says)
    tool = folder / "nvidia-smi"
    tool.write_text(f'#!/bin/sh\n[ "$*" = -L ] || exit 2\n/bin/cat {text}\nexit {status}\n')
    tool.chmod(0o755)
