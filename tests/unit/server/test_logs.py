from __future__ import annotations

import ast
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

import rota
from rota.server.identity.minting import new_secret
from rota.server.log_events import SENTENCES
from rota.server.logs import REDACTED, LogFormat, configure_logs, redact
from rota.trust.join_token import JoinTokenText, token_text
from rota.trust.keys import key_pem, new_key

SOURCES = Path(rota.__file__).parent
DOCS = Path(__file__).parents[3] / "docs"
LEVELS = ("debug", "info", "warning", "error", "exception", "critical")


@pytest.fixture
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, configured = root.handlers[:], root.level, structlog.get_config()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**configured)


@pytest.mark.covers("ops-2")
@pytest.mark.usefixtures("_as_before")
@pytest.mark.parametrize("form", ["json", "console"])
def test_secrets_never_reach_the_log(form: str) -> None:
    secret = new_secret()
    written = io.StringIO()
    configure_logs(form, "info", written)  # type: ignore[arg-type]
    log = structlog.get_logger("rota.test")
    log.info(f"with {secret}", headers={"Authorization": "Bearer other"}, deep=[{"x": (b"cookie", b"crumb")}])
    logging.getLogger("a.library").warning("seen %s", f"Bearer {secret}")
    try:
        raise ValueError(secret)
    except ValueError:
        log.exception("failed", token="short")
    text = written.getvalue()
    assert text.count(REDACTED) >= 6
    for hidden in (secret, "other", "crumb", "short"):
        assert hidden not in text


@pytest.mark.usefixtures("_as_before")
def test_lines_are_json_with_a_time_and_a_level() -> None:
    written = io.StringIO()
    configure_logs("json", "warning", written)
    structlog.get_logger("rota.test").info("hidden")
    structlog.get_logger("rota.test").warning("shown", job="17")
    entry = json.loads(written.getvalue())
    assert (entry["event"], entry["level"], entry["logger"], entry["job"]) == (
        "shown",
        "warning",
        "rota.test",
        "17",
    )
    assert entry["timestamp"].endswith("Z")


def test_what_is_no_secret_stays() -> None:
    entry = {"event": "rota_events_total", "count": 3, "names": ("a", "b", "c")}
    assert redact(None, "", dict(entry)) == {**entry, "names": ["a", "b", "c"]}


@pytest.mark.covers("ops-2")
@pytest.mark.parametrize(
    "secret",
    [
        new_secret(),
        token_text(JoinTokenText("https://rota.example.org", bytes(32), "j1", bytes(32))),
        "postgresql://rota:hunter2@db.example.org/rota",
        "Basic cm90YTpodW50ZXIy",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl",
        key_pem(new_key()).decode(),
    ],
    ids=["token", "join token", "database", "basic", "provider", "key"],
)
def test_secrets_of_every_kind_are_known_by_their_look(secret: str) -> None:
    entry = redact(None, "info", {"event": f"it says {secret} there", "deep": [{"x": secret}]})
    assert entry["event"].count(REDACTED) == 1
    for hidden in (secret, "hunter2", "cm90YTpodW50ZXIy"):
        assert hidden not in str(entry)


def _keys_in_calls() -> Iterator[str]:
    """The first argument of every log call in the sources."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="log" | "_log"), attr=attr),
                    args=[ast.Constant(value=str(key)), *_],
                ) if attr in LEVELS:
                    yield key


@pytest.mark.slow
def test_every_event_is_explained_and_listed() -> None:
    of_agents = {f"agent.{kind}" for kind in ("joined", "left", "lost", "refused")}
    assert set(_keys_in_calls()) | of_agents == set(SENTENCES)
    rows = re.findall(r"^\| `([\w.]+)` \| (.*) \|$", (DOCS / "logs.md").read_text(), re.MULTILINE)
    assert dict(rows) == SENTENCES
    assert [key for key in SENTENCES if not re.fullmatch(r"[a-z_]+\.[a-z_]+", key)] == []


@pytest.mark.usefixtures("_as_before")
@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("json", ['"event": "server.ready"', '"message": "The server is ready."']),
        ("console", ["server.ready: The server is ready."]),
    ],
)
def test_a_line_has_the_key_and_the_sentence(form: LogFormat, shown: list[str]) -> None:
    written = io.StringIO()
    configure_logs(form, "info", written)
    structlog.get_logger("rota.test").info("server.ready")
    assert [part for part in shown if part not in written.getvalue()] == []
