"""HTML and SVG that can't be broken by what is written into it.

Names of jobs and users come from files that anybody may have written. Plain text is escaped whenever it
becomes a part of an element; only what `element` itself has made passes as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_EMPTY = frozenset({"circle", "line", "meta", "path", "rect", "use"})
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Not allowed in HTML, or, like marks for the direction of writing, of effect beyond the name they are in."""
_LONGEST_NAME = 40


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


NOTHING = Markup("")


def element(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """`class_` is written "class", `aria_label` "aria-label"; an attribute that is None is left out."""
    written = "".join(
        f' {_attribute_name(key)}="{_text(value)}"' for key, value in attributes.items() if value is not None
    )
    if name in _EMPTY and not children:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(parts: Iterable[str]) -> Markup:
    return Markup("".join(_text(part) for part in parts))


def short(name: str) -> str:
    """A name where there is little room; empty ones are said to be so."""
    if not name.strip():
        return "(no name)"
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def number_text(value: float) -> str:
    """As short as two decimals can be: most of a large picture is coordinates."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percent_of_width(share: float) -> str:
    return f"{number_text(100 * share)}%"


def _attribute_name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _text(value: str | float) -> str:
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return escape(_CONTROLS.sub("\ufffd", value))
    return number_text(value)
