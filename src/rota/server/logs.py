"""The log of a service: JSON lines, or text for a console. Secrets are replaced. See docs/logs.md."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Literal, TextIO

import structlog

from rota.server.log_events import SENTENCES

LogFormat = Literal["json", "console"]
REDACTED = "***"
_TALKATIVE = ("alembic", "uvicorn")
"""Libraries that log their normal work, which is of no interest here."""
_SECRET = re.compile(
    r"rota(?:join)?_[A-Za-z0-9_-]{43,}"  # tokens, and those that machines join with
    r"|(?i:bearer|basic)\s+\S+"
    r"|(?<=://)[^/\s@]*:[^/\s@]*(?=@)"  # user and password of a URL
    r"|\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"  # a provider's signed tokens
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_SECRET_KEYS = frozenset(
    (
        "access_token",
        "authorization",
        "client_secret",
        "cookie",
        "device_code",
        "id_token",
        "password",
        "private_key",
        "proxy-authorization",
        "refresh_token",
        "secret",
        "secrets",
        "set-cookie",
        "token",
    )
)


def configure_logs(form: LogFormat, level: str = "info", stream: TextIO | None = None) -> None:
    """For this program and its libraries. `stream`: standard error by default."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        explain if form == "json" else explain_in_line,
        redact,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=(stream or sys.stderr).isatty())
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared[:4], structlog.stdlib.ExtraAdder(), *shared[4:]],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, redact, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for library in _TALKATIVE:
        logging.getLogger(library).setLevel(max(logging.WARNING, root.level))


def explain(logger: Any, method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Adds the sentence that explains the event. Events of libraries have none."""
    if (sentence := SENTENCES.get(entry["event"])) is not None:
        entry["message"] = sentence
    return entry


def explain_in_line(logger: Any, method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """For people at a console: the key and its sentence in one."""
    if (sentence := SENTENCES.get(entry["event"])) is not None:
        entry["event"] = f"{entry['event']}: {sentence}"
    return entry


def redact(logger: Any, method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replaces values that have the name or the look of a secret, at any depth."""
    for key, value in entry.items():
        entry[key] = _redacted(key, value)
    return entry


def _redacted(key: object, value: Any) -> Any:
    if isinstance(key, str) and key.lower() in _SECRET_KEYS:
        return REDACTED
    if isinstance(value, str):
        return _SECRET.sub(REDACTED, value)
    if isinstance(value, bytes):
        return _SECRET.sub(REDACTED, value.decode("utf-8", "replace"))
    if isinstance(value, dict):
        return {inner: _redacted(inner, item) for inner, item in value.items()}
    if isinstance(value, (list, tuple)):
        if len(value) == 2 and isinstance(value[0], (str, bytes)):
            name = value[0].decode("latin-1") if isinstance(value[0], bytes) else value[0]
            return [name, _redacted(name, value[1])]
        return [_redacted(None, item) for item in value]
    return value
