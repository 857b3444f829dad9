"""Options as a struct: a command that has many declares them as the fields of a NamedTuple, once, and hands
the struct on to the code that does the work."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, get_type_hints


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """A parameter that is a NamedTuple is one option per field to users; the command gets the struct."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    structs = {one.name: one.annotation for one in own if _is_struct(one.annotation)}
    shown = [field for one in own for field in (_fields(one.annotation) if one.name in structs else [one])]

    def with_structs(**values: Any) -> None:
        made = {
            name: struct(**{field: values.pop(field) for field in struct._fields})
            for name, struct in structs.items()
        }
        command(**made, **values)

    # Keyword only, so that options without a default may follow options with one.
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in shown]
    with_structs.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_structs.__name__ = command.__name__
    with_structs.__doc__ = command.__doc__
    with_structs.__annotations__ = {}
    return with_structs


def _is_struct(annotation: object) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, tuple) and hasattr(annotation, "_fields")


@cache
def _fields(struct: Any) -> tuple[inspect.Parameter, ...]:
    hints = get_type_hints(struct, include_extras=True)
    return tuple(
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[name],
            default=struct._field_defaults.get(name, inspect.Parameter.empty),
        )
        for name in struct._fields
    )
