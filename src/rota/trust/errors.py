"""What is wrong with a token, a request or a certificate, told so that somebody can do something about it."""

from __future__ import annotations


class TrustError(Exception):
    """`field`: where in what was sent, or which file; `help`: what to do."""

    def __init__(self, field: str, message: str, help: str) -> None:
        super().__init__(f"{field}: {message}; {help}")
        self.field = field
        self.message = message
        self.help = help
