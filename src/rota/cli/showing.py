"""Shows lists and single objects in the chosen format: a table, data, or names only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec import Struct
from rich.console import RenderableType

from rota.cli.output import Form, ListForm, show, write, write_document
from rota.clock import now_ms
from rota.views.times import Clock

T = TypeVar("T", bound=Struct)


def clock() -> Clock:
    return Clock(now_ms())


def show_list(
    items: Sequence[T],
    form: ListForm,
    names: Callable[[T], str],
    table: Callable[[Sequence[T]], Iterable[RenderableType]],
) -> None:
    match form:
        case ListForm.NAME:
            write("".join(f"{names(one)}\n" for one in items))
        case ListForm.JSON | ListForm.YAML:
            write_document(items, Form(form.value))
        case ListForm.TABLE | ListForm.WIDE:
            show(table(items))


def show_one(item: T, form: Form, table: Callable[[T], Iterable[RenderableType]]) -> None:
    if form.is_table:
        show(table(item))
    else:
        write_document(item, form)
