"""Clients and servers of one minor version understand each other, whichever is the older one.

Answers of the version's first server are kept in tests/data/answers/ (`record_answers.py`). They must stay
as they are. Where a test fails here, a change would break clients or servers that are in use: a new field
needs a default, and none may go, change its type or become required.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec import convert, inspect, json

from rota import __version__
from rota.api.documents import Problem
from rota.sdk.call import Call
from rota.sdk.client import Client
from rota.sdk.errors import Conflict
from rota.sdk.problems import reported
from rota.sdk.streams import LogPosition
from rota.server.routes import ROUTES
from tests.kit.sampling import sampled
from tests.unit.cli.calling import rota
from tests.unit.sdk.record_answers import FOLDER

T = TypeVar("T")

VERSIONS = sorted(path for path in FOLDER.iterdir() if path.is_dir())
BY_NAME = {route.operation_id: route for route in ROUTES}
NOT_JSON = {"read_metrics", "read_openapi", "read_output", "follow_events", "read_logs"}
NOT_FOR_USERS = {"check_alive", "check_ready", "join_agent", "renew_agent"}
RECORDED = [path for version in VERSIONS for path in sorted(version.glob("*.json"))]


def kind_of(path: Path) -> Any:
    name, status, _ = path.name.split(".")
    return BY_NAME[name].answers[int(status)] if int(status) < 400 else Problem


def recorded_id(path: Path) -> str:
    return f"{path.parent.name}-{path.name}"


def as_it_is(data: Any, kind: inspect.Type) -> Any:
    return data


def with_more(data: Any, kind: inspect.Type) -> Any:
    """As a later server might answer: each document has a field more."""
    return _each(data, kind, lambda fields, struct: {**fields, "added_later": [{"x": 1}]})


def with_less(data: Any, kind: inspect.Type) -> Any:
    """As an earlier server might answer: what has a default isn't there."""

    def required(fields: dict[str, Any], struct: inspect.StructType) -> dict[str, Any]:
        optional = {one.encode_name for one in struct.fields if not one.required}
        return {name: value for name, value in fields.items() if name not in optional}

    return _each(data, kind, required)


def _each(data: Any, kind: inspect.Type, change: Any) -> Any:
    match kind:
        case inspect.StructType(fields=fields) if isinstance(data, dict):
            types = {one.encode_name: one.type for one in fields}
            inner = {name: _each(value, types[name], change) for name, value in data.items()}
            return change(inner, kind)
        case inspect.ListType(item_type=item) if isinstance(data, list):
            return [_each(one, item, change) for one in data]
        case inspect.DictType(value_type=value) if isinstance(data, dict):
            return {name: _each(one, value, change) for name, one in data.items()}
        case inspect.UnionType(types=types):
            fitting = (inspect.StructType, inspect.ListType, inspect.DictType)
            one = next((one for one in types if isinstance(one, fitting)), None)
            return data if one is None or data is None else _each(data, one, change)
        case _:
            return data


def test_every_answer_that_clients_read_is_recorded() -> None:
    """Of the version that this is. With the first of another minor version: `record_answers.py`."""
    wanted = set(BY_NAME) - NOT_JSON - NOT_FOR_USERS
    newest = ".".join(__version__.split(".")[:2])
    recorded = {path.name.split(".")[0] for path in RECORDED if path.parent.name >= newest}
    assert wanted <= recorded


@pytest.mark.parametrize("path", RECORDED, ids=recorded_id)
@pytest.mark.parametrize("changed", sampled([with_less, with_more, as_it_is], quick=1))
def test_it_can_be_read(path: Path, changed: Any) -> None:
    kind = kind_of(path)
    data = changed(json.decode(path.read_bytes()), inspect.type_info(kind))
    assert convert(data, kind)


@pytest.mark.parametrize("path", RECORDED, ids=recorded_id)
def test_nothing_in_it_was_forgotten(path: Path) -> None:
    """A field that went, or that changed its name, would be ignored in silence."""
    data, kind = json.decode(path.read_bytes()), kind_of(path)
    read = json.decode(json.encode(convert(data, kind)))
    assert _names(data) <= _names(read)


def _names(data: Any, at: str = "") -> set[str]:
    match data:
        case dict():
            return {f"{at}.{name}" for name in data if data[name] not in ([], {}, None)}.union(
                *(_names(value, f"{at}.{name}") for name, value in data.items())
            )
        case list():
            return set().union(*(_names(one, f"{at}[]") for one in data))
        case _:
            return set()


class Recorded(Client):
    """Answers with what is recorded, whatever job, node or queue it is asked about."""

    def __init__(self, folder: Path, change: Any) -> None:
        self._folder, self._change = folder, change

    def send(self, call: Call[T]) -> T:
        return call.read(self._answer(call.method, call.path, is_first="after" not in dict(call.params)))

    def _answer(self, method: str, path: str, *, is_first: bool) -> bytes:
        for name, route in BY_NAME.items():
            pattern = re.sub(r"{\w+}", "[^/]+", route.path.removeprefix("/v1"))
            if route.method == method and re.fullmatch(pattern, path):
                found = sorted(self._folder.glob(f"{name}.2*.json"))[-1]
                changed = self._change(json.decode(found.read_bytes()), inspect.type_info(kind_of(found)))
                if not is_first and "next" in changed:
                    changed["next"] = None  # one page is recorded, and no other comes after it
                return json.encode(changed)
        raise AssertionError(f"no route for {method} {path}")

    def close(self) -> None:
        """There is no connection."""

    def events(self, **filters: Any) -> Iterator[Any]:
        yield from self.event_page().items


JOBS = "jobs.yaml"
COMMANDS = [
    ["ls"],
    ["show", "1"],
    ["why", "1"],
    ["why", "1", "-o", "wide"],
    ["why", "1", "-o", "json"],
    ["eta", "1"],
    ["eff", "1"],
    ["extend", "1", "+1h"],
    ["plan", "--", "true"],
    ["submit", JOBS],
    ["cancel", "1"],
    ["hold", "1"],
    ["release", "1"],
    ["events"],
    ["nodes"],
    ["nodes", "cordon", "n1"],
    ["queues"],
    ["queues", "pause", "default"],
    ["top", "--once"],
    ["limits"],
    ["maintenance"],
    ["maintenance", "add", "fan", "--start", "now", "--for", "1h"],
    ["maintenance", "rm", "fan"],
    ["reserve"],
    ["reserve", "rm", "exam"],
    ["project"],
    ["project", "set", "vision", "--description", "Images"],
    ["project", "rm", "vision"],
    ["secret", "--project", "vision"],
    ["token"],
    ["token", "add", "ada", "--role", "viewer"],
    ["token", "rm", "t1"],
    ["agent", "ls"],
    ["agent", "revoke", "m1"],
    ["audit"],
    ["audit", "--check"],
]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
@pytest.mark.parametrize("changed", sampled([with_less, with_more], quick=1))
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_show_it(
    version: Path, changed: Any, command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    # As many as were submitted where answers were recorded.
    Path(JOBS).write_text("jobs: [{command: a}, {command: b, array: 0-1}, {command: c}]")
    monkeypatch.setattr("rota.sdk.client.Client", lambda **given: Recorded(version, changed))
    result = rota(*command, columns=120)
    assert result.code in (0, 2), result.err  # 2: a plan in which a job would wait
    assert "Traceback" not in result.err


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_refusals_say_what_is_in_the_way(version: Path) -> None:
    error = reported(409, None, (version / "extend_job.409.json").read_bytes())
    assert isinstance(error, Conflict)
    assert error.data["extension"]["granted"] is False  # type: ignore[index]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_logs(version: Path) -> None:
    read = LogPosition("1").reader()
    [chunk] = read((version / "read_logs.200.ndjson").read_bytes())
    assert (chunk.rank, chunk.data) == (0, b"hello\n\xff")
