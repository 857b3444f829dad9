"""Why a request can't be carried out. Typed; whoever asked is told in the words of its interface."""

from __future__ import annotations


class ControlError(Exception):
    """The base of all; never raised itself. `help`: what to do."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help


class NotFound(ControlError):
    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"there is no {kind} {name}")
        self.kind = kind
        self.name = name


class Gone(ControlError):
    """It was there, and its time is over."""


class IsArray(NotFound):
    """There is no job of that number: it is an array's."""

    def __init__(self, number: str) -> None:
        super().__init__("job", number)


class Conflict(ControlError):
    """The current state doesn't allow it."""


class Changed(ControlError):
    """It is no longer what whoever asks has seen."""


class BadInput(ControlError):
    """`field`: where in the request."""

    def __init__(self, field: str, message: str, help: str = "") -> None:
        super().__init__(message, help)
        self.field = field


class NotAllowed(ControlError):
    """An operator's limit forbids it. `field`: where in the request."""

    def __init__(self, field: str, message: str, help: str = "") -> None:
        super().__init__(message, help)
        self.field = field


class TooOften(ControlError):
    """Nothing is wrong with it but that it comes too soon."""

    def __init__(self, message: str, wait_s: int) -> None:
        super().__init__(message, f"wait {wait_s} s")
        self.wait_s = wait_s


class Unavailable(ControlError):
    """Nothing can be kept at the moment, so nothing is accepted. Asking again later is fine. `cause`: more
    about it, for operators alone: it may name hosts and folders."""

    def __init__(self, message: str, help: str = "", cause: str = "") -> None:
        super().__init__(message, help)
        self.cause = cause

    def __str__(self) -> str:
        """For logs."""
        return f"{self.message}: {self.cause}" if self.cause else self.message
