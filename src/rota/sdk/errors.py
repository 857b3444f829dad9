"""What can go wrong, as exceptions: one class for each kind of problem that a server reports, and those
that a client meets by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    # The worker that runs a call needs only the classes, and is to start fast.
    from rota.api.jobs import JobDocument


class RotaError(Exception):
    """The base of all. `field`: where in the request; `help`: what to do; `kind`: the problem as the server
    names it ("bad-input"); `data`: what else is known."""

    may_pass: ClassVar[bool] = False
    """Asking again, a little later, may work."""

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        help: str | None = None,
        kind: str = "",
        status: int | None = None,
        data: dict[str, object] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.help = help
        self.kind = kind
        self.status = status
        self.data = data or {}
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[object, ...]:
        """Carried between processes with all that it says."""
        return _restored, (type(self), self.message, self.__dict__)

    def __str__(self) -> str:
        where = f"{self.field}: " if self.field else ""
        what_to_do = f" ({self.help})" if self.help else ""
        return f"{where}{self.message}{what_to_do}"


class BadInput(RotaError):
    """Something in the request isn't as it must be; `field` says what."""


class Unauthorised(RotaError):
    """The token is missing, wrong or expired."""


class Forbidden(RotaError):
    """The token's role doesn't allow it, or it belongs to others (`kind` is "not-yours")."""


class NotFound(RotaError):
    """Not found, or none that this token may see."""


class Gone(NotFound):
    """It was there, and is no longer kept."""


class Conflict(RotaError):
    """The current state doesn't allow it."""


class TooLarge(RotaError):
    """More than the server takes at once."""


class TooManyRequests(RotaError):
    """Too many requests; `retry_after_s` says when to continue."""

    may_pass = True


class Unavailable(RotaError):
    """The server can't keep anything at the moment, so it accepts nothing."""

    may_pass = True


class ServerFault(RotaError):
    """The server failed to answer; that is a bug of Rota's."""


class BadAnswer(RotaError):
    """An answer that isn't Rota's: perhaps something else listens at this address."""


class Unreachable(RotaError):
    """No server answers."""

    may_pass = True


class Silence(Unreachable):
    """The server was reached, but then nothing came for a while."""


class Untrusted(RotaError):
    """The server's certificate isn't one that this client trusts."""


class NoServer(RotaError):
    """Nothing says where the server is, or what says so can't be used."""


class WaitTimeout(RotaError, TimeoutError):
    """The job didn't end in time. It goes on."""


class ExecutorClosed(RotaError, RuntimeError):
    """It was shut down, or has lost its server for good, and takes no more calls."""


class NotPicklable(RotaError, TypeError):
    """A function, argument or result that can't be sent to another process."""


class JobFailed(RotaError):
    """A job ended without a result: it failed, was cancelled or took too long. `job`: how it ended."""

    def __init__(self, job: JobDocument, message: str, *, help: str | None = None) -> None:
        super().__init__(message, help=help)
        self.job = job


def _restored(kind: type[RotaError], message: str, state: dict[str, object]) -> RotaError:
    error = kind.__new__(kind, message)
    error.__dict__.update(state)
    return error
