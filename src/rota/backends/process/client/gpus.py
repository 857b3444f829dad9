"""GPUs of this machine, as NVIDIA's own tool lists them, and by which names programs find theirs.

    GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-…)          a whole one, or one that is cut into instances:
      MIG 3g.20gb     Device  0: (UUID: MIG-…)          each of them is a device then, and the GPU is none

Programs are told theirs in CUDA_VISIBLE_DEVICES: by number where all devices are whole and alike, else by
UUID, since CUDA counts neither instances nor unlike GPUs in the order of this list.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct
from msgspec.structs import replace

from rota.model.node import Gpus

if TYPE_CHECKING:
    from rota.backends.backend import TaskStart

log = structlog.get_logger()

VISIBLE = "CUDA_VISIBLE_DEVICES"
_LIST = ("nvidia-smi", "-L")
_ANSWERS_WITHIN_S = 10.0
_NONE_FOUND = 6
"""How the tool ends if its driver works and there is no device."""
_GPU = re.compile(r"GPU (?P<number>\d+): (?P<name>.+) \(UUID: (?P<uuid>[^()\s]+)\)", re.ASCII)
_INSTANCE = re.compile(r"\s+MIG (?P<profile>\S+)\s+Device\s+\d+: \(UUID: (?P<uuid>[^()\s]+)\)", re.ASCII)


class _Device(Struct, frozen=True):
    model: str
    uuid: str
    is_instance: bool = False


class FoundGpus(Struct, frozen=True):
    gpus: Gpus = Gpus()
    ids: tuple[str, ...] = ()
    """What CUDA calls them; empty: by their numbers."""
    trouble: str = ""
    """Why it isn't all that there is."""


def find_gpus() -> FoundGpus:
    """None where the tool isn't installed, fails, or finds none."""
    try:
        answer = subprocess.run(
            _LIST, capture_output=True, text=True, errors="replace", timeout=_ANSWERS_WITHIN_S
        )
    except FileNotFoundError:
        return FoundGpus()
    except (OSError, subprocess.SubprocessError) as error:
        return _failed(str(error))
    if answer.returncode == _NONE_FOUND:
        return FoundGpus()
    if answer.returncode:
        said = (answer.stdout.strip() or answer.stderr.strip()).splitlines()
        return _failed(said[0] if said else f"nvidia-smi ended with {answer.returncode}")
    return found_in(answer.stdout)


def _failed(why: str) -> FoundGpus:
    log.warning("gpus.unknown", why=why)
    return FoundGpus(trouble=f"its GPUs are not known: {why}")


def found_in(listed: str) -> FoundGpus:
    """A node has GPUs of one model: of several, those that are most."""
    devices = _devices(listed)
    if not devices:
        return FoundGpus()
    counts: dict[str, int] = {}
    for device in devices:
        counts[device.model] = counts.get(device.model, 0) + 1
    model = max(counts, key=lambda one: counts[one])
    offered = [device for device in devices if device.model == model]
    are_all_whole_and_alike = len(offered) == len(devices) and not offered[0].is_instance
    others = ", ".join(f"{count} {name}" for name, count in counts.items() if name != model)
    return FoundGpus(
        Gpus(len(offered), model),
        () if are_all_whole_and_alike else tuple(device.uuid for device in offered),
        f"GPUs of another model are left out: {others}" if others else "",
    )


def _devices(listed: str) -> list[_Device]:
    devices: list[_Device] = []
    whole = ""
    for line in listed.splitlines():
        if (found := _GPU.fullmatch(line)) is not None:
            whole = found["name"].strip()
            devices.append(_Device(whole, found["uuid"]))
        elif (found := _INSTANCE.fullmatch(line)) is not None and devices:
            if not devices[-1].is_instance:
                # Of a GPU that is cut, only the parts can be used.
                devices.pop()
            devices.append(_Device(f"{whole} MIG {found['profile']}", found["uuid"], is_instance=True))
    return devices


def with_names_of(ids: Sequence[str], start: TaskStart) -> TaskStart:
    """The task finds its devices by what they are called here."""
    if not ids:
        return start
    environment = dict(start.environment)
    numbers = environment.get(VISIBLE, "")
    if not numbers:
        return start
    environment[VISIBLE] = ",".join(ids[int(number)] for number in numbers.split(","))
    return replace(start, environment=tuple(sorted(environment.items())))
