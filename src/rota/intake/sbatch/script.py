"""A script for sbatch as a job to submit."""

import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from rota.intake.documents.source import MAX_BYTES, STANDARD_INPUT, decode, display_name, read_bytes
from rota.intake.errors import InputError, Position
from rota.intake.job_files import JobFile, job_file_of
from rota.intake.sbatch.hosts import expand_hosts
from rota.intake.sbatch.options import Note, read_options
from rota.intake.sbatch.reading import Reading
from rota.intake.sbatch.shape import read_shape
from rota.intake.sbatch.times import limit_seconds, moment
from rota.intake.submissions import name_from

Form = dict[str, Any]

_AFTER = {"afterok": "success", "afternotok": "failure", "afterany": "any", "aftercorr": "success"}
_JOB = re.compile(r"(\d{1,18})(?:[_.](\d{1,9}))?", re.ASCII)
_SIGNAL = re.compile(r"(?:(?P<where>[RB]+):)?(?P<signal>\w+)(?:@(?P<seconds>\d{1,5}))?", re.ASCII)
_DEFAULT_WARNING_S = 60

_WHY_NOT = {
    "mail-type": "Rota sends no mail",
    "mail-user": "Rota sends no mail",
    "constraint": "nodes have labels here: use node_selector in a job file",
    "qos": "there are no levels of service: choose a queue",
    "licenses": "Rota doesn't manage licences",
    "comment": "use labels in a job file",
}
_OF_SBATCH_ITSELF = frozenset(("quiet", "verbose", "parsable", "ignore-pbs", "requeue"))
"""Nothing about the job, or what Rota does anyway."""


def is_script(start: bytes) -> bool:
    """Whether a file that begins so is a script rather than a file of jobs."""
    return start.startswith(b"#!")


def read_sbatch(
    path: str | os.PathLike[str],
    *,
    now: datetime,
    raw: bytes | None = None,
    args: Sequence[str] = (),
    directory: str = "",
    node_selector: Mapping[str, str] | None = None,
    submitted_from: str = "",
    environ: Mapping[str, str] | None = None,
    taken_along: Mapping[str, str] | None = None,
    max_bytes: int = MAX_BYTES,
) -> JobFile:
    """`now` has a time zone: that of times in the script. `raw`: what it holds, if it was read before.
    `directory`: where the script runs unless it says so itself; empty: in a folder of its own.
    `node_selector`: of nodes that have it. `environ`: where --export finds variables without a value.
    `taken_along`: the part of it that ALL stands for."""
    name = os.fspath(path)
    file = display_name(name)
    text = decode(read_bytes(name, max_bytes) if raw is None else raw, file)
    if not text.startswith("#!"):
        raise InputError(
            file, "does not look like a script", "begin with a line like #!/bin/sh", position=Position(1, 1)
        )
    options, notes = read_options(text, file)
    reading = Reading(options, notes, file)
    form: Form = {
        "name": "sbatch" if name == STANDARD_INPUT else name_from(os.path.basename(name)),
        "script": text,
        "args": list(args),
        "slurm_names": True,
        "script_name": "" if name == STANDARD_INPUT else os.path.basename(name),
        **read_shape(reading),
        **_plain_fields(reading),
        **_times(reading, now),
        **_environment(reading, environ or {}, taken_along or {}, submitted_from),
    }
    chosen = _directory(reading, directory)
    form |= _output_files(reading, chosen)
    for field, value in (
        ("directory", chosen),
        ("node_selector", {} if reading.is_absolute("chdir") else dict(node_selector or {})),
        ("depends_on", _dependencies(reading)),
        ("array", _array(reading)),
        ("warn", _warning(reading, "time_limit" in form)),
        ("node_affinity", _nodes(reading)),
    ):
        if value:
            form[field] = value
    _note_what_is_left(reading)
    try:
        job_file = job_file_of([form])
    except InputError as error:
        raise reading.in_terms_of_options(error) from None
    warnings = tuple(map(str, sorted(notes)))
    return replace(
        job_file, submission=replace(job_file.submission, warnings=(*warnings, *job_file.submission.warnings))
    )


def _plain_fields(reading: Reading) -> Form:
    form: Form = {}
    for option, field, read in (
        ("job-name", "name", name_from),
        ("account", "project", str),
        ("partition", "queue", _first),
        ("reservation", "reservation", _first),
    ):
        value = reading.value(option)
        if value is not None:
            form[field] = read(value)
            reading.stands_for(field, option)
            if read is _first and "," in value:
                reading.note(option, f"one is chosen, not any of several: {form[field]}")
    if reading.has("hold"):
        form["hold"] = True
    if reading.has("no-requeue"):
        form["at_maintenance"] = "end"
        reading.note("no-requeue", "a task that is evicted or lost with its node is tried again all the same")
    return form


def _first(text: str) -> str:
    return text.partition(",")[0]


def _times(reading: Reading, now: datetime) -> Form:
    form: Form = {}
    limit = _read(
        reading, "time", limit_seconds, "is not a time limit", "write it like 90, 1:30:00 or 2-12:00"
    )
    if limit is not None:
        form["time_limit"] = limit
        reading.stands_for("time_limit", "time")
    for option, field in (("begin", "start_after"), ("deadline", "deadline")):
        at = _read(
            reading,
            option,
            lambda text: moment(text, now),
            "is not a time",
            "write it like 16:00, now+1hour or 2026-05-01T12:00:00",
        )
        if at is not None and at > now:
            form[field] = int(at.timestamp())
            reading.stands_for(field, option)
        elif at is not None and option == "deadline":
            raise reading.error(option, "is past", "give a later time")
    return form


def _read(reading: Reading, option: str, parse: Callable[[str], Any], problem: str, remedy: str) -> Any:
    value = reading.value(option)
    if value is None:
        return None
    try:
        return parse(value)
    except (ValueError, OverflowError):
        raise reading.error(option, problem, remedy) from None


def _environment(
    reading: Reading, environ: Mapping[str, str], taken_along: Mapping[str, str], submitted_from: str
) -> Form:
    variables: dict[str, str] = {}
    for part in (reading.value("export") or "ALL").split(","):
        name, equals, text = part.partition("=")
        if equals:
            variables[name] = text
        elif name == "ALL":
            variables = {**taken_along, **variables}
        elif name in environ:
            variables[name] = environ[name]
        elif name not in ("NONE", "NIL", ""):
            reading.note("export", f"{name} isn't set here, and is ignored")
    reading.stands_for("environment", "export")
    if submitted_from:
        variables["SLURM_SUBMIT_DIR"] = submitted_from
        variables["SLURM_SUBMIT_HOST"] = platform.node()
    return {"environment": variables} if variables else {}


def _directory(reading: Reading, directory: str) -> str:
    reading.stands_for("directory", "chdir")
    chosen = os.path.join(directory, reading.value("chdir") or "")
    return os.path.normpath(chosen) if chosen else ""


def _output_files(reading: Reading, directory: str) -> Form:
    """Without a directory, what a task writes is removed with it."""
    form: Form = {}
    for option, field in (("output", "stdout"), ("error", "stderr")):
        path = reading.value(option)
        if path is None:
            continue
        reading.stands_for(field, option)
        if directory or path.startswith("/"):
            form[field] = path
        else:
            reading.note(option, "the job has no folder that stays: `rota logs` shows what it writes")
    mode = reading.value("open-mode")
    if mode is not None and mode not in ("append", "truncate"):
        raise reading.error("open-mode", "is not a way to open files", "write append or truncate")
    return {**form, "append": True} if form and mode == "append" else form


def _dependencies(reading: Reading) -> list[Form]:
    value = reading.value("dependency")
    found: list[Form] = []
    if value is None:
        return found
    reading.stands_for("depends_on", "dependency")
    if "?" in value:
        raise reading.error(
            "dependency", "Rota can't wait for any one of several jobs", "use a comma: all of them"
        )
    for part in value.split(","):
        kind, *jobs = part.split(":")
        if kind not in _AFTER or not jobs:
            raise reading.error(
                "dependency",
                f"{part} is not a dependency that Rota knows",
                "use afterok:17, afternotok:17 or afterany:17",
            )
        if kind == "aftercorr":
            reading.note("dependency", "aftercorr: each waits for the whole array, not for its own element")
        for job in jobs:
            match = _JOB.fullmatch(job)
            if match is None:
                raise reading.error("dependency", f"{job} is not a job's number", "write it like afterok:17")
            found.append({"job": match[1] + (f".{match[2]}" if match[2] else ""), "after": _AFTER[kind]})
    return found


def _array(reading: Reading) -> str:
    value = reading.value("array")
    if value is None:
        return ""
    reading.stands_for("array", "array")
    return value


def _warning(reading: Reading, has_limit: bool) -> Form | None:
    value = reading.value("signal")
    if value is None:
        return None
    match = _SIGNAL.fullmatch(value)
    if match is None:
        raise reading.error("signal", "is not a signal", "write it like USR1@120")
    if not has_limit:
        reading.note("signal", "there is no --time to warn of: ignored")
        return None
    reading.stands_for("warn", "signal")
    return {"signal": match["signal"], "before": int(match["seconds"] or _DEFAULT_WARNING_S)}


def _nodes(reading: Reading) -> Form | None:
    term: Form = {}
    for option, field in (("nodelist", "names"), ("exclude", "not_names")):
        hosts = _read(
            reading, option, expand_hosts, "is not a list of nodes", "write it like n1,n[4-7], without a file"
        )
        if hosts is not None:
            term[field] = hosts
            reading.stands_for("node_affinity", option)
    return {"required": [term]} if term else None


def _note_what_is_left(reading: Reading) -> None:
    for option in reading.not_asked():
        if option.name not in _OF_SBATCH_ITSELF:
            why = _WHY_NOT.get(option.name, "Rota has no such option")
            reading.notes.append(Note(option.line, f"--{option.name} is ignored: {why}"))
