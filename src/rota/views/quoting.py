"""Words of others, operators' and plugins', as a part of ours."""

from __future__ import annotations

_LONGEST_QUOTE = 200


def one_line(text: str) -> str:
    """Kept from breaking the table or steering the terminal."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= _LONGEST_QUOTE else f"{plain[: _LONGEST_QUOTE - 1]}…"
