"""What clients send, as typed values: query strings, bodies, names in paths. Each error names its field."""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from rota.model.ids import JobId
from rota.model.quantities import QuantityError
from rota.server.http.problems import ProblemError, bad_input, printable

T = TypeVar("T")

MAX_NAME = 253
"""Of a name: that of a DNS name, as in Kubernetes."""
MAX_QUERY_FIELDS = 50
ARRAY_PATTERN = r"^[0-9]{1,18}$"
JOB_PATTERN = r"^[0-9]{1,18}([._][0-9]{1,9})?$"
SHA256_PATTERN = r"^[0-9a-f]{64}$"
NAME_PATTERN = r"^(?!\.{1,2}$)[^\s\x00-\x1f\x7f]+$"

_JOB = re.compile(JOB_PATTERN)
_SHA256 = re.compile(SHA256_PATTERN)
_MESSAGE = re.compile(r"(?P<problem>.*?)(?: - at `(?:key in )?(?P<path>\$.*)`)?", re.DOTALL)
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(?P<field>.*)`", re.DOTALL)
_MISSING_FIELD = re.compile(r"Object missing required field `(?P<field>.*)`", re.DOTALL)


def read_query(query_string: bytes, wanted: type[T]) -> T:
    """Numbers and truth values may be text here, as all is in a query string."""
    if not query_string:
        return _convert({}, wanted, "the query")
    try:
        pairs = parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_QUERY_FIELDS,
        )
    except UnicodeDecodeError:
        raise bad_input("", "the query string is not UTF-8 text", "encode it as UTF-8 with %XX") from None
    except ValueError:
        raise bad_input("", f"more than {MAX_QUERY_FIELDS} parameters", "send fewer") from None
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise bad_input(printable(name), "given twice", "give it once; several values go with commas")
        if "\0" in value:
            raise bad_input(printable(name), "contains a NUL character", "remove it")
        values[name] = value
    return _convert(values, wanted, "the query")


def read_body(body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _in_our_words(error, "the body") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST,
            "bad-request",
            f"the body is not JSON: {printable(str(error))}",
            help="send one JSON object, encoded as UTF-8",
        ) from None


def _convert(values: dict[str, str], wanted: type[T], where: str) -> T:
    try:
        return msgspec.convert(values, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise _in_our_words(error, where) from None


def _in_our_words(error: msgspec.ValidationError, where: str) -> ProblemError:
    message = _MESSAGE.fullmatch(str(error))
    assert message is not None
    problem, path = message["problem"], (message["path"] or "$").removeprefix("$").removeprefix(".")
    unknown = _UNKNOWN_FIELD.fullmatch(problem)
    if unknown:
        field = f"{path}.{unknown['field']}".removeprefix(".")
        return bad_input(
            printable(field), f"{where} has no such field", "see /openapi.json for what it takes"
        )
    missing = _MISSING_FIELD.fullmatch(problem)
    if missing:
        field = f"{path}.{missing['field']}".removeprefix(".")
        return bad_input(printable(field), "is missing", "add it")
    wanted = problem.replace("`", "")
    return bad_input(printable(path), f"{wanted[:1].lower()}{wanted[1:]}", "see /openapi.json for its form")


def read_job_id(text: str) -> JobId:
    if not _JOB.fullmatch(text):
        raise bad_input(
            "job", f"{printable(text)} is not a job's id", "ids look like 17, or 17.3 (also 17_3) in an array"
        )
    return JobId(text.replace("_", "."))


def read_array_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise bad_input("array", f"{printable(text, 40)} is not an array's number", "numbers look like 17")
    return int(text)


def read_sha256(text: str) -> str:
    if not _SHA256.fullmatch(text):
        raise bad_input("sha256", "is not a SHA-256 hash", "give 64 hexadecimal digits in lower case")
    return text


def read_name(text: str, field: str = "name") -> str:
    if text in ("", ".", ".."):
        raise bad_input(field, f"“{text}” is not a name", "give another")
    if len(text) > MAX_NAME:
        raise bad_input(field, f"{len(text)} characters are too many", f"give at most {MAX_NAME}")
    if not text.isprintable() or " " in text:
        raise bad_input(field, "contains spaces or control characters", "use letters, digits, - _ . and /")
    return text


def read_step(text: str, field: str = "name") -> str:
    """A name that is a part of a path, as those of projects and users are."""
    if "/" in text:
        raise bad_input(field, "contains a slash", "choose a name without one")
    return read_name(text, field)


def read_relative_path(text: str, field: str = "path") -> str:
    if "\0" in text or not text.isprintable():
        raise bad_input(field, "contains control characters", "give the path as the job declares it")
    if text.startswith("/") or ".." in text.split("/"):
        raise bad_input(field, "leaves the task's folder", "give a path within it, without ..")
    return text


def read_quantity(field: str, parse: Callable[[object], T], value: object) -> T:
    """By one of the parsers of `model.quantities`."""
    try:
        return parse(value)
    except QuantityError as error:
        raise bad_input(field, error.problem, error.remedy) from None


def read_ranks(text: str, field: str = "rank") -> tuple[int, ...]:
    """`0,1,5`."""
    parts = text.split(",")
    if len(parts) > 10_000 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise bad_input(field, f"{printable(text, 40)} is not a list of ranks", "write it like 0,1,5")
    return tuple(sorted({int(part) for part in parts}))


def read_choices(text: str, known: type[Any], field: str) -> tuple[Any, ...]:
    """`pending,running`: members of an enumeration, by their values."""
    values = {member.value: member for member in known}
    chosen = []
    for part in text.split(","):
        if part not in values:
            raise bad_input(field, f"unknown: {printable(part, 40)}", f"allowed: {', '.join(values)}")
        chosen.append(values[part])
    return tuple(dict.fromkeys(chosen))
