"""The singular of a plural, and the other way round: of names of fields, which are English."""

from collections.abc import Iterator


def other_numbers(name: str) -> Iterator[str]:
    """Of a word, the singular or the plural."""
    if name.endswith("ies"):
        yield f"{name[:-3]}y"
    if name.endswith("s") and not name.endswith("ss"):
        yield name[:-1]
    else:
        yield f"{name}s"
        if name.endswith("y"):
            yield f"{name[:-1]}ies"
