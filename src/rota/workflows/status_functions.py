"""`success()`, `failure()`, `cancelled()` and `always()`."""

from __future__ import annotations

from collections.abc import Callable

from rota.workflows.expressions.evaluator import Function
from rota.workflows.expressions.parser import Arity
from rota.workflows.status import Status


def status_functions(status: Status) -> dict[str, Function]:
    tests: dict[str, Callable[[], bool]] = {
        "success": lambda: status is Status.SUCCESS,
        "failure": lambda: status is Status.FAILURE,
        "cancelled": lambda: status is Status.CANCELLED,
        "always": lambda: True,
    }
    return {name: Function(Arity(0, 0), lambda _, test=test: test()) for name, test in tests.items()}  # type: ignore[misc]
