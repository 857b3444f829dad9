"""Tables of words by type, of reasons and of changes: which type is said how, checked for its fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from rota.model.explanation import Change
from rota.model.verdict import Reason
from rota.views.times import TimeText

R = TypeVar("R", bound=Reason)
C = TypeVar("C", bound=Change)

ReasonWords: TypeAlias = dict[type[Reason], Callable[[Any, TimeText], str]]
"""`TimeText`: how times are written in it."""
ChangeWords: TypeAlias = dict[type[Change], Callable[[Any], str]]


def said(kind: type[R], words: Callable[[R], str]) -> tuple[type[Reason], Callable[[Any, TimeText], str]]:
    return kind, lambda reason, _: words(reason)


def said_with_times(
    kind: type[R], words: Callable[[R, TimeText], str]
) -> tuple[type[Reason], Callable[[Any, TimeText], str]]:
    return kind, words


def always(kind: type[Reason], words: str) -> tuple[type[Reason], Callable[[Any, TimeText], str]]:
    return kind, lambda reason, _: words


def proposed(kind: type[C], words: Callable[[C], str]) -> tuple[type[Change], Callable[[Any], str]]:
    return kind, words
