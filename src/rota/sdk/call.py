"""A request as data: what both clients send, and how its answer is read."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import Enum
from typing import Generic, ParamSpec, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

from msgspec import DecodeError, Struct, ValidationError, json
from msgspec.structs import replace

from rota.sdk.errors import BadAnswer, BadInput

P = ParamSpec("P")
T = TypeVar("T")

Param: TypeAlias = "str | int | bool | datetime | Enum | Iterable[str] | None"


class Call(Struct, Generic[T], frozen=True):
    """Sending one twice does no harm: either it is idempotent by itself, or it has a key by which the
    server knows it again."""

    method: str
    path: str
    read: Callable[[bytes], T]
    params: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None

    @property
    def target(self) -> str:
        return f"{self.path}?{urlencode(self.params)}" if self.params else self.path


def get(path: str, answer: type[T], **params: Param) -> Call[T]:
    return Call("GET", path, _reader(answer), given(params))


def delete(path: str, answer: type[T], **params: Param) -> Call[T]:
    return Call("DELETE", path, _reader(answer), given(params))


def send(method: str, path: str, body: object, answer: type[T], **params: Param) -> Call[T]:
    """One that changes something. Made once and sent as often as it takes: its key stays the same."""
    headers = [("Content-Type", "application/json")]
    if method == "POST":
        headers.append(("Idempotency-Key", uuid.uuid4().hex))
    return Call(method, path, _reader(answer), given(params), tuple(headers), json.encode(body))


def if_match(call: Call[T], version: str | None) -> Call[T]:
    """Carried out only if what it changes is still of this version."""
    return call if not version else replace(call, headers=(*call.headers, ("If-Match", f'"{version}"')))


def described(method: Callable[P, T], make: Callable[..., object]) -> Callable[P, T]:
    """The method of a client that sends what `make` makes: it has its text and parameters."""
    method.__name__ = make.__name__
    method.__doc__ = make.__doc__
    signature = inspect.signature(make)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    parameters = [itself, *signature.parameters.values()]
    # Types are left out: those of the answer differ from what `make` returns.
    method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return method


def given(params: dict[str, Param]) -> tuple[tuple[str, str], ...]:
    """Those that say something, as they are written in an address."""
    return tuple((name, _written(value)) for name, value in params.items() if not _says_nothing(value))


def segment(field: str, value: str) -> str:
    """A name as one step of a path, and never another path."""
    if not value or value in (".", ".."):
        raise BadInput(f"{value!r} is not a name", field=field, help="give the id or name of what is meant")
    return quote(value, safe="")


def steps(field: str, path: str) -> str:
    return "/".join(segment(field, step) for step in path.split("/"))


def _reader(answer: type[T]) -> Callable[[bytes], T]:
    def read(body: bytes) -> T:
        try:
            return json.decode(body, type=answer)
        except (DecodeError, ValidationError) as error:
            raise BadAnswer(
                f"the answer can't be read: {error}",
                help="check that the address is that of a Rota server of the same version",
            ) from None

    return read


def _says_nothing(value: Param) -> bool:
    return value is None or value is False or value == "" or value == ()


def _written(value: Param) -> str:
    match value:
        case True:
            return "true"
        case datetime():
            return value.isoformat()
        case Enum():
            return str(value.value)
        case str() | int():
            return str(value)
        case _:
            assert value is not None
            return ",".join(value)
