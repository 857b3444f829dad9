"""Whether what an agent says can be believed. Whatever it is, it can only be wrong about itself."""

from __future__ import annotations

import re

from rota.backends.agents.messages import PROTOCOL, node_from, ref_from, shown_load
from rota.backends.backend import TaskRef
from rota.model.node import Node
from rota.model.resources import Resources
from rota.wire import agents_pb2 as wire

_MOST = 2**53
"""Of anything: larger numbers aren't the same in JSON."""
_MOST_GPUS = 4_096
_MOST_LABELS = 200
_LONGEST_TEXT = 1_000
_MOST_TASKS = 200_000
_NAME = re.compile(r"[0-9A-Za-z]([0-9A-Za-z._-]{0,251}[0-9A-Za-z])?", re.ASCII)
_JOB = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?", re.ASCII)


class Refusal(Exception):
    """What an agent said can't be, and what to do about it; the text names the field."""


class WrongProtocol(Refusal):
    pass


def check_protocol(protocol: int) -> None:
    if protocol != PROTOCOL:
        older = "the server" if protocol > PROTOCOL else "the agent"
        raise WrongProtocol(
            f"protocol: the agent speaks version {protocol}, the server {PROTOCOL}; upgrade {older}"
        )


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        shown = name[:100].encode("ascii", "backslashreplace").decode()
        raise Refusal(
            f"name: '{shown}' can't be the name of a node; up to 253 letters, digits, '.', '_' and '-' can"
        )


def believable_node(name: str, backend: str, message: wire.Node) -> Node:
    try:
        node = node_from(name, backend, message)
    except ValueError as error:
        raise Refusal(
            f"node.taints: {error}; NoSchedule, PreferNoSchedule and NoExecute are effects"
        ) from None
    spec = node.spec
    _check_capacity(spec.capacity)
    _check_amount("node.gpus", spec.gpus.count, 0, _MOST_GPUS)
    _check_amount("node.price_micro_per_hour", spec.price_micro_per_hour, 0, _MOST)
    believable_load(message.load_milli)
    believable_memory(message)
    for field, pairs in (("labels", spec.labels), ("taints", [(one.key, one.value) for one in spec.taints])):
        if len(pairs) > _MOST_LABELS:
            raise Refusal(f"node.{field}: more than {_MOST_LABELS}; give fewer")
        if any(not key or len(key) + len(value) > _LONGEST_TEXT for key, value in pairs):
            raise Refusal(f"node.{field}: a key is empty, or longer than {_LONGEST_TEXT} characters")
    if max(len(spec.pool), len(spec.gpus.model)) > _LONGEST_TEXT:
        raise Refusal(f"node.pool, node.gpu_model: longer than {_LONGEST_TEXT} characters")
    return node


def believable_load(load_milli: int) -> int:
    """As nodes show it."""
    _check_amount("node.load_milli", load_milli, 0, _MOST)
    return shown_load(load_milli)


def believable_memory(message: wire.Node) -> tuple[int, int]:
    """In use by whomever, and by other programs."""
    _check_amount("node.memory_used_bytes", message.memory_used_bytes, 0, _MOST)
    _check_amount("node.memory_others_bytes", message.memory_others_bytes, 0, _MOST)
    return message.memory_used_bytes, message.memory_others_bytes


def _check_capacity(capacity: Resources) -> None:
    _check_amount("node.capacity.cpu_milli", capacity.cpu_milli, 1, _MOST)
    _check_amount("node.capacity.memory_bytes", capacity.memory_bytes, 1, _MOST)
    _check_amount("node.capacity.storage_bytes", capacity.storage_bytes, 0, _MOST)
    _check_amount("node.capacity.slots", capacity.slots, 1, _MOST)
    for name, amount in capacity.extended:
        _check_amount(f"node.capacity.extended.{name[:100]}", amount, 0, _MOST)


def _check_amount(field: str, amount: int, least: int, most: int) -> None:
    if not least <= amount <= most:
        raise Refusal(f"{field}: {amount} can't be; it is {least} to {most}")


def believable_refs(tasks: list[wire.TaskRef]) -> list[TaskRef]:
    if len(tasks) > _MOST_TASKS:
        raise Refusal(f"tasks: more than {_MOST_TASKS} can't run on one machine")
    return [believable_ref(task) for task in tasks]


def believable_ref(task: wire.TaskRef) -> TaskRef:
    if not (_JOB.fullmatch(task.job) and task.rank >= 0 and task.fence >= 1):
        raise Refusal(f"ref: ({task.job[:40]!r}, {task.rank}, {task.fence}) names no task")
    return ref_from(task)
