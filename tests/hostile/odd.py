"""Odd values, and good ones made odd. All of it follows from one Random."""

from __future__ import annotations

from random import Random
from typing import Any

_TEXTS = (
    "",
    " ",
    "\0",
    "a" * 300,
    "é" * 70,
    "‮evil",
    "\ud800",
    "../../etc/passwd",
    "/dev/zero",
    "'; drop table jobs; --",
    "${HOME}",
    "$(id)",
    "%s%n",
    "-1",
    "1e400",
    "0x10",
    "١٢",
    "true",
    "null",
    "2026-13-45T99:99:99Z",
    "9" * 40,
    "1" + "0" * 30 + "Gi",
    "\x1b[2J",
    "a,b=c",
    "*",
    "\n",
    "0-99999999999",
    "0-9:0",
    "9-0",
)
_NUMBERS = (0, -1, 1, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 10**30, -(2**63) - 1, 0.1, 1e308, -0.0)


class Odd:
    def __init__(self, random: Random) -> None:
        self.random = random

    def text(self) -> str:
        if self.random.random() < 0.7:
            return self.random.choice(_TEXTS)
        letters = "abzAZ019-_./:= {}[]\"'\\\t\r\n\0é‮"
        return "".join(self.random.choices(letters, k=self.random.randrange(40)))

    def number(self) -> int | float:
        return self.random.choice(_NUMBERS)

    def scalar(self) -> Any:
        return self.random.choice((self.text, self.number, lambda: None, lambda: True))()

    def tree(self, depth: int = 3) -> Any:
        kind = self.random.randrange(4 if depth else 2)
        if kind < 2:
            return self.scalar()
        count = self.random.choice((0, 1, 2, 3, 30))
        if kind == 2:
            return [self.tree(depth - 1) for _ in range(count)]
        return {self.text(): self.tree(depth - 1) for _ in range(count)}

    def made_odd(self, value: Any) -> Any:
        """The same with one place changed, somewhere inside."""
        if isinstance(value, dict) and value and self.random.random() < 0.85:
            key = self.random.choice(list(value))
            changed = dict(value)
            match self.random.randrange(6):
                case 0:
                    del changed[key]
                case 1:
                    changed[self.text()] = self.tree(1)
                case _:
                    changed[key] = self.made_odd(value[key])
            return changed
        if isinstance(value, list) and value and self.random.random() < 0.85:
            at = self.random.randrange(len(value))
            if self.random.random() < 0.2:
                return value * self.random.choice((2, 20))
            return [*value[:at], self.made_odd(value[at]), *value[at + 1 :]]
        return self.tree(self.random.choice((0, 0, 1, 3)))

    def cut(self, data: bytes) -> bytes:
        """Bytes gone, doubled, changed or put in."""
        for _ in range(self.random.choice((1, 1, 2, 8))):
            at = self.random.randrange(len(data) + 1)
            match self.random.randrange(5):
                case 0:
                    data = data[:at]
                case 1:
                    data = data[:at] + data[at : at + 20] + data[at:]
                case 2:
                    data = data[:at] + self.random.randbytes(self.random.choice((1, 4))) + data[at:]
                case 3:
                    data = data[:at] + data[at + self.random.randrange(1, 9) :]
                case _:
                    nested = self.random.choice((b"[", b'{"a":', b"- ", b"(", b"{{"))
                    data = data[:at] + nested * self.random.choice((10, 5000)) + data[at:]
        return data
