"""A picture with its title and caption."""

from __future__ import annotations

from rota.simulate.report.markup import NOTHING, Markup, element


def figure(title: str, picture: Markup, caption: str, legend: Markup = NOTHING, wide: bool = False) -> Markup:
    return element(
        "figure",
        element("h3", title),
        legend,
        picture,
        element("figcaption", caption),
        class_="wide" if wide else None,
    )


def note(text: str) -> Markup:
    """In place of a picture that there is nothing to draw for."""
    return element("p", text, class_="note")
