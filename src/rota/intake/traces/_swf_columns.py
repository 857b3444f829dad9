"""The columns of a line of the Standard Workload Format, and errors that point to one."""

import re
from decimal import Decimal

from rota.intake.errors import InputError
from rota.intake.traces._text import Line

FIELDS = (
    "job_number",
    "submit_time",
    "wait_time",
    "run_time",
    "allocated_processors",
    "average_cpu_time",
    "used_memory",
    "requested_processors",
    "requested_time",
    "requested_memory",
    "status",
    "user_id",
    "group_id",
    "executable_number",
    "queue_number",
    "partition_number",
    "preceding_job",
    "think_time",
)
COLUMN = {name: index for index, name in enumerate(FIELDS)}
UNKNOWN = "-1"

# Short enough that neither reading a number nor a time in milliseconds can overflow.
_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{0,12})?", re.ASCII)
_WORD = re.compile(r"\S+")


def check_numbers(line: Line, fields: list[str]) -> None:
    for name, text in zip(FIELDS, fields, strict=False):
        if not _NUMBER.fullmatch(text):
            raise column_error(
                line, name, f'"{text}" is not a number', "give a number, or -1 if it is unknown"
            )
    if len(fields) < len(FIELDS):
        raise line.error(
            len(line.text) + 1,
            FIELDS[len(fields)],
            f"is missing: the line has {len(fields)} of {len(FIELDS)} columns",
            "give -1 for what is unknown; if it is the last line, the file was cut off",
        )
    if len(fields) > len(FIELDS):
        surplus = list(_WORD.finditer(line.text))[len(FIELDS)]
        raise line.error(
            surplus.start() + 1,
            "",
            f"the line has {len(fields)} columns instead of {len(FIELDS)}",
            "remove the extra columns",
        )


def milliseconds(line: Line, fields: list[str], name: str) -> int | None:
    """None: unknown."""
    text = fields[COLUMN[name]]
    if text == UNKNOWN:
        return None
    if text.startswith("-"):
        raise column_error(line, name, f"negative time {text}", "give 0 or more, or -1 if it is unknown")
    return int(Decimal(text) * 1000) if "." in text else int(text) * 1000


def named(line: Line, fields: list[str], name: str, prefix: str) -> str:
    text = fields[COLUMN[name]]
    if text == UNKNOWN:
        return "default"
    if not text.isdecimal():
        raise column_error(
            line, name, f"{text} is no {prefix}", "give a whole number, or -1 if it is unknown"
        )
    return f"{prefix}-{text}"


def column_error(line: Line, name: str, problem: str, remedy: str) -> InputError:
    word = list(_WORD.finditer(line.text))[COLUMN[name]]
    return line.error(word.start() + 1, name, problem, remedy)
