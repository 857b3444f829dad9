"""What a job asks for, in a line: from its spec as the server shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rota.views.amounts import count_text
from rota.views.quoting import one_line

_FIRST = ("cpu", "memory")


def asked_for_text(spec: Mapping[str, Any]) -> str:
    """`1 cpu, 256Mi memory, 1 gpu (H200)`; of groups, each with its number of tasks."""
    groups = spec.get("groups")
    if isinstance(groups, list):
        texts = (f"{count_text(group.get('tasks', 1), 'task')} of {_task_text(group)}" for group in groups)
        return one_line("; ".join(texts))
    return one_line(_task_text(spec))


def _task_text(form: Mapping[str, Any]) -> str:
    return ", ".join([*_amounts(form), *_gpus(form.get("gpus"))]) or "nothing"


def _amounts(form: Mapping[str, Any]) -> Iterator[str]:
    amounts, limits = form.get("resources") or {}, form.get("limits") or {}
    for name in (*_FIRST, *(one for one in amounts if one not in _FIRST)):
        amount, limit = amounts.get(name, 0), limits.get(name)
        if amount:
            yield (
                f"{amount} {name}" if limit in (None, "none", amount) else f"{amount} {name} (up to {limit})"
            )


def _gpus(gpus: object) -> Iterator[str]:
    if isinstance(gpus, Mapping):
        models = f" ({' or '.join(gpus['models'])})" if gpus.get("models") else ""
        yield f"{gpus.get('share', gpus.get('count', 1))} gpu{models}"
    elif gpus not in (None, 0, "0"):
        yield f"{gpus} gpu"
