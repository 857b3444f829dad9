"""What is to be done about an event, once it is recorded. Doing one twice does no harm."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from rota.model.ids import JobId, NodeName


class StartTask(Struct, frozen=True, omit_defaults=True):
    job: JobId
    rank: int
    fence: int
    node: NodeName
    gpu_devices: tuple[int, ...] = ()
    standby: bool = False


class StopTask(Struct, frozen=True, omit_defaults=True):
    job: JobId
    rank: int
    fence: int
    node: NodeName


class ChangeLimit(Struct, frozen=True, omit_defaults=True):
    job: JobId
    rank: int
    fence: int
    node: NodeName
    time_limit_ms: int


class TellDependents(Struct, frozen=True, omit_defaults=True):
    """The job is over: those that wait for it are to know."""

    job: JobId
    succeeded: bool


Instruction: TypeAlias = StartTask | StopTask | ChangeLimit | TellDependents
