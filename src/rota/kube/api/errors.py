"""What can go wrong in asking a cluster: one class for each kind of refusal that callers tell apart."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from rota.kube.api.objects import Status


class Call(Struct, frozen=True):
    """What was asked, in the words of Kubernetes' access rules."""

    verb: str
    resource: str
    """As rules name it: "pods", "pods/binding"."""
    group: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        where = "/".join(part for part in (self.namespace, self.name) if part)
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        return " ".join(part for part in (self.verb, what, where) if part)


class KubeError(Exception):
    """The base of all that a call can end with."""

    may_pass: ClassVar[bool] = False
    """Asking again, a little later, may work."""
    may_have_happened: ClassVar[bool] = False
    """What was asked for may have been done nevertheless."""
    retry_after_s: float | None = None


class Unreachable(KubeError):
    """No connection, or no answer in time; the request may have arrived."""

    may_pass = True
    may_have_happened = True

    def __init__(self, call: Call, why: str) -> None:
        super().__init__(f"{call}: the API server doesn't answer: {why}")
        self.call = call


class Silent(Unreachable):
    """A watch says nothing any more. Most of the time, there is nothing to be said."""


class NotConnected(Unreachable):
    """The request was never sent."""

    may_have_happened = False


class Untrusted(NotConnected):
    """Whoever answers there isn't the server that was meant, as far as certificates say."""

    may_pass = False


class Withheld(KubeError):
    """It wasn't sent: what it was sent on behalf of had ended by the time that its turn came."""

    def __init__(self, call: Call) -> None:
        super().__init__(f"{call}: not sent, since this process no longer leads")
        self.call = call


class BadAnswer(KubeError):
    """An answer that is none of a Kubernetes API server."""

    may_have_happened = True

    def __init__(self, call: Call, problem: str) -> None:
        super().__init__(f"{call}: the answer can't be read: {problem}")
        self.call = call


class NoCredentials(KubeError):
    """The plugin or the file that is to give them doesn't, for now."""

    may_pass = True


class ApiError(KubeError):
    """The API server said no."""

    advice: ClassVar[str] = ""

    def __init__(self, call: Call, status: Status, retry_after_s: float | None = None) -> None:
        super().__init__(call, status)
        self.call = call
        self.status = status
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        said = self.status.message or self.status.reason or "refused"
        advice = f" ({self.advice})" if self.advice else ""
        return f"{self.call}: {self.status.code}: {said}{advice}"


class BadRequest(ApiError):
    """400"""


class Unauthorised(ApiError):
    """401"""

    advice = "check the token or certificate: it is unknown to the cluster, or has expired"


class Forbidden(ApiError):
    """403"""

    def __str__(self) -> str:
        rule = f'apiGroups: ["{self.call.group}"], resources: ["{self.call.resource}"]'
        return f'{super().__str__()} (add to a role of this account: {rule}, verbs: ["{self.call.verb}"])'


class NotFound(ApiError):
    """404"""


class Conflict(ApiError):
    """409: it has changed since it was read, or is already what it was to become."""


class AlreadyExists(Conflict):
    """409, of a name that is taken."""


class Expired(ApiError):
    """410: what has happened since that version is no longer known; list anew."""


class Invalid(ApiError):
    """422: the status names the fields."""


class TooManyRequests(ApiError):
    """429: it was not even looked at."""

    may_pass = True


class HeldByBudget(TooManyRequests):
    """429, of an eviction: a disruption budget is used up. It may pass, but not within moments."""

    may_pass = False


class ServerFailure(ApiError):
    """5xx"""

    may_pass = True
    may_have_happened = True


_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorised,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
}


def api_error(call: Call, status: Status, retry_after_s: float | None = None) -> ApiError:
    kind = _BY_CODE.get(status.code, ServerFailure if status.code >= 500 else ApiError)
    if status.reason == "AlreadyExists":
        kind = AlreadyExists
    elif kind is TooManyRequests and any(cause.reason == "DisruptionBudget" for cause in status.causes):
        kind = HeldByBudget
    return kind(call, status, retry_after_s)
