"""Words for amounts: resources, prices, priorities, counts, and what a job asks for."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor

from rota.model.job import Job, Priority
from rota.model.quantities import format_bytes, format_cpu, format_gpu, format_price
from rota.model.task import TaskSpec

_READABLE_LENGTH = 7
_BINARY_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def asked_text(resource: str, amount: int, *, of_one_device: bool = False) -> str:
    """An amount of a resource with its name, rounded up where it would be long: `8 cpu`, `64Gi memory`."""
    return f"{asked_amount_text(resource, amount)} {noun_text(resource, of_one_device=of_one_device)}"


def asked_amount_text(resource: str, amount: int) -> str:
    """The same without the name."""
    return _amount(resource, amount, ceil)


def amount_text(resource: str, amount: int) -> str:
    """An amount of a resource without its name, rounded down where it would be long."""
    return _amount(resource, amount, floor)


def noun_text(resource: str, *, of_one_device: bool = False) -> str:
    return f"of a {resource}" if of_one_device else resource


def _amount(resource: str, amount: int, rounded: Callable[[float], int]) -> str:
    match resource:
        case "cpu":
            return format_cpu(amount)
        case "memory" | "storage":
            return _bytes_text(amount, rounded)
        case "gpu":
            return format_gpu(amount)
        case _:
            return str(amount)


def _bytes_text(size_bytes: int, rounded: Callable[[float], int]) -> str:
    exact = format_bytes(size_bytes)
    if len(exact) <= _READABLE_LENGTH:
        return exact
    power = min((size_bytes.bit_length() - 1) // 10, len(_BINARY_UNITS))
    tenths = rounded(10 * size_bytes / 1024**power)
    return f"{tenths / 10:g}{_BINARY_UNITS[power - 1]}"


def price_text(price_micro: int) -> str:
    return f"{format_price(price_micro)}/h"


def priority_text(priority: int) -> str:
    names = {int(one): one.name.lower() for one in Priority}
    return names.get(priority, str(priority))


def count_text(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def request_text(job: Job) -> str:
    """What its tasks ask for: `2 tasks, each 32 cpu, 256Gi memory, 4 gpu`."""
    groups = job.template.groups
    if job.template.task_count == 1:
        return spec_text(groups[0].spec)
    counts: dict[str, int] = {}
    for group in groups:
        # Groups may differ in nothing that is asked for: in labels, say.
        asked = spec_text(group.spec)
        counts[asked] = counts.get(asked, 0) + group.count
    return "; ".join(
        f"{count:,} tasks, each {asked}" if count > 1 else f"1 task of {asked}"
        for asked, count in counts.items()
    )


def spec_text(spec: TaskSpec) -> str:
    requests = spec.requests
    amounts = {
        "cpu": requests.cpu_milli,
        "memory": requests.memory_bytes,
        "gpu": spec.gpu.total_milli,
        "storage": requests.storage_bytes,
        **dict(requests.extended),
    }
    texts = [
        asked_text(resource, amount, of_one_device=resource == "gpu" and spec.gpu.is_fraction)
        for resource, amount in amounts.items()
        if amount
    ]
    if spec.gpu.models:
        texts.append(f"model {' or '.join(spec.gpu.models)}")
    return ", ".join(texts) or "no resources"
