"""A request as data: what both clients send, and how its answer is read.

A call is declared once, as a method that makes it: `sent` and `listed` turn that into a method of a client
that waits for answers, and of one whose answers are awaited.
"""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeAlias, TypeVar, overload
from urllib.parse import quote, urlencode

from msgspec import MsgspecError, Struct, json
from msgspec.structs import replace

from rota.api.documents import Page
from rota.sdk.errors import BadAnswer, BadInput

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")

UNREADABLE = (MsgspecError, UnicodeDecodeError, RecursionError)
"""What reading JSON may raise: it is none, it isn't text, or it is nested too deeply."""
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
        return f"{self.path}?{_sendable(urlencode, self.params)}" if self.params else self.path


class Waiting(ABC):
    """A client that waits for answers."""

    @abstractmethod
    def send(self, call: Call[T]) -> T: ...


class Awaiting(ABC):
    """A client whose answers are awaited."""

    @abstractmethod
    async def send(self, call: Call[T]) -> T: ...


class _Declared(Generic[P]):
    """A method that makes a call. What clients have instead takes the same, and has the same description."""

    def __init__(self, make: Callable[..., object]) -> None:
        self.__name__ = make.__name__
        self.__doc__ = make.__doc__
        self._declared = make

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """Made for those that are used. Types are left out: those of the answer differ from what `make`
        returns."""
        return inspect.Signature([*inspect.signature(self._declared).parameters.values()])

    def __set_name__(self, owner: type, name: str) -> None:
        self.__name__ = name

    def __call__(self, client: object, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        """As any method that is asked of its class."""
        return getattr(client, self.__name__)(*args, **kwargs)

    def _of_class(self) -> Any:
        """A function, so that `help` shows it as a method."""

        def function(client: object, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self(client, *args, **kwargs)

        function.__dict__.update(
            vars(self), call=getattr(self, "call", None), __signature__=self.__signature__
        )
        function.__name__, function.__doc__ = self.__name__, self.__doc__
        return function

    def _described(self, method: Callable[P, T]) -> Callable[P, T]:
        method.__name__, method.__doc__ = self.__name__, self.__doc__
        parameters = [*self.__signature__.parameters.values()][1:]
        method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return method


class sent(_Declared[P], Generic[P, T]):  # noqa: N801 – used as a decorator
    """A call that is answered with one document."""

    def __init__(self, make: Callable[Concatenate[Any, P], Call[T]]) -> None:
        super().__init__(make)
        self.make = make

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[T]:
        """As data, to be sent later."""
        return self.make(None, *args, **kwargs)

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Waiting, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self._of_class()

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self.make(client, *args, **kwargs))

        return self._described(method)


class listed(_Declared[P], Generic[P, T]):  # noqa: N801 – used as a decorator
    """A call that is answered with pages, each asked for when the one before is used up."""

    def __init__(self, make: Callable[Concatenate[Any, P], Call[Page[T]]]) -> None:
        super().__init__(make)
        self.make = make

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Waiting, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self._of_class()
        return self._described(
            self._awaited(client) if isinstance(client, Awaiting) else self._waited(client)
        )

    def _waited(self, client: Waiting) -> Callable[P, Iterator[T]]:
        def method(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
            while True:
                page = client.send(self.make(client, *args, **kwargs))
                yield from page.items
                if page.next is None:
                    return
                kwargs["after"] = onward(page.next, kwargs.get("after"))

        return method

    def _awaited(self, client: Awaiting) -> Callable[P, AsyncIterator[T]]:
        async def method(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
            while True:
                page = await client.send(self.make(client, *args, **kwargs))
                for item in page.items:
                    yield item
                if page.next is None:
                    return
                kwargs["after"] = onward(page.next, kwargs.get("after"))

        return method


def onward(next: str, after: object) -> str:
    """Where the next page begins. One that begins where the last one did would come again for ever."""
    if next == str(after):
        raise BadAnswer(
            "the server answers with the same page again and again",
            help="check that the address is that of a Rota server of the same version",
        )
    return next


def get(path: str, answer: type[T], **params: Param) -> Call[T]:
    return Call("GET", path, reader(answer), given(params))


def delete(path: str, answer: type[T], **params: Param) -> Call[T]:
    return Call("DELETE", path, reader(answer), given(params))


def send(method: str, path: str, body: object, answer: type[T], **params: Param) -> Call[T]:
    """One that changes something. Made once and sent as often as it takes: its key stays the same."""
    headers = [("Content-Type", "application/json")]
    if method == "POST":
        headers.append(("Idempotency-Key", os.urandom(16).hex()))
    return Call(method, path, reader(answer), given(params), tuple(headers), _sendable(json.encode, body))


def if_match(call: Call[T], version: str | None) -> Call[T]:
    """Carried out only if what it changes is still of this version."""
    return call if not version else replace(call, headers=(*call.headers, ("If-Match", f'"{version}"')))


def given(params: dict[str, Param]) -> tuple[tuple[str, str], ...]:
    """Those that say something, as they are written in an address."""
    return tuple((name, _written(value)) for name, value in params.items() if not _says_nothing(value))


def segment(field: str, value: str) -> str:
    """A name as one step of a path, and never another path."""
    if not value or value in (".", ".."):
        raise BadInput(f"{value!r} is not a name", field=field, help="give the id or name of what is meant")
    return _sendable(lambda text: quote(text, safe=""), value, field)


def steps(field: str, path: str) -> str:
    return "/".join(segment(field, step) for step in path.split("/"))


def reader(answer: type[T]) -> Callable[[bytes], T]:
    def read(body: bytes) -> T:
        try:
            return json.decode(body, type=answer)
        except UNREADABLE as error:
            raise BadAnswer(
                f"the answer can't be read: {error}",
                help="check that the address is that of a Rota server of the same version",
            ) from None

    return read


def _sendable(write: Callable[[A], T], value: A, field: str | None = None) -> T:
    """Names of files that aren't UTF-8 come as texts that no request can hold."""
    try:
        return write(value)
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise BadInput(
            f"{character!r} can't be sent: it is no character", field=field, help="use text in UTF-8"
        ) from None


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


def stated(**fields: object) -> dict[str, object]:
    """Those that were given."""
    return {name: value for name, value in fields.items() if value is not None}
