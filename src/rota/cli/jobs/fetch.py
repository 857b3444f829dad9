"""`rota fetch`: the files that a job's tasks left, of those that it declares as its outputs.

one task, or tasks with different files   DIR/out/a.csv
tasks with files of the same path         DIR/0/out/a.csv, DIR/1/out/a.csv
an array                                  DIR/24.0/out/a.csv, DIR/24.1/out/a.csv
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import typer

from rota.api.jobs import JobDocument, OutputDocument, OutputsDocument
from rota.cli.client.connection import Server, connect
from rota.cli.client.job_names import array_of, by_index, job_named
from rota.cli.exits import EX_BAD_INPUT, EX_IO, EX_NOT_FOUND, EX_OK, EX_REFUSED
from rota.cli.jobs.saved_files import Folder, NotSaved
from rota.cli.output import ListFormat, OutputFormat, show, talk, write, write_document
from rota.cli.showing import clock
from rota.cli.tables import BAD, Table, new_table
from rota.cli.text import Text
from rota.model.outputs import is_meant
from rota.sdk.errors import NotFound
from rota.views.amounts import amount_text, count_text
from rota.views.jobs import state_text
from rota.views.quoting import one_line

_LONGEST_PAGE = 1000
_NAMED = 10


class _Left(NamedTuple):
    """What a job left, as far as it was asked for."""

    job: str
    outputs: OutputsDocument


class _Fetched(NamedTuple):
    job: str
    file: OutputDocument
    target: str
    """Below the folder that all go to."""


def fetch(job: str, path: str | None, to: str, *, force: bool) -> int:
    """The exit code."""
    with connect() as server:
        job, found, is_array = _asked_for(server, job, path)
        if not any(left.outputs.items or left.outputs.missing for left in found):
            return _tell_of_none(server, job, path, is_array=is_array)
        files = list(_targets(found, is_array=is_array))
        folder = Folder(to)
        try:
            if not force and (there := [one.target for one in files if folder.has(one.target)]):
                talk(f"{_some(os.path.join(to, one) for one in there)} already there; --force replaces files")
                return EX_BAD_INPUT
            for one in files:
                data = server.output(one.job, one.file.path, rank=one.file.rank)
                folder.save(one.target, data, executable=one.file.executable, replace=force)
        except NotSaved as error:
            talk(one_line(str(error)))
            return EX_IO
        if files:
            size = _size_text(sum(one.file.size_bytes for one in files))
            talk(f"fetched {count_text(len(files), 'file')}, {size}, into {one_line(to)}")
        return _tell_of_missing(found)


def _size_text(size_bytes: int) -> str:
    return amount_text("storage", size_bytes) if size_bytes >= 1024 else count_text(size_bytes, "byte")


def list_files(job: str, path: str | None, output: ListFormat) -> int:
    with connect() as server:
        job, found, is_array = _asked_for(server, job, path)
        match output:
            case ListFormat.JSON | ListFormat.YAML:
                documents = {left.job: left.outputs for left in found}
                write_document(documents if is_array else documents[job], OutputFormat(output.value))
            case ListFormat.NAME:
                names = [one.target for one in _targets(found, is_array=is_array)]
                write("".join(f"{one_line(name)}\n" for name in names))
            case ListFormat.TABLE | ListFormat.WIDE:
                if not any(left.outputs.items or left.outputs.missing for left in found):
                    return _tell_of_none(server, job, path, is_array=is_array)
                show([_table(found)])
    return EX_OK


def _asked_for(server: Server, job: str, path: str | None) -> tuple[str, list[_Left], bool]:
    """The id, what was left, and whether it is an array."""
    job = job_named(server, job)
    try:
        return job, [_Left(job, _chosen(server.outputs(job), path))], False
    except NotFound as error:
        if array_of(error) is None:
            raise
    elements = server.jobs(array=job, limit=_LONGEST_PAGE)
    ids = sorted((one.id for one in elements), key=by_index)
    return job, [_Left(id, _chosen(server.outputs(id), path)) for id in ids], True


def _chosen(outputs: OutputsDocument, path: str | None) -> OutputsDocument:
    """A path is that of a file or folder, or a pattern, as in `outputs`. What is missing is known by what
    was declared alone."""
    if path is None:
        return outputs
    wanted = path.removeprefix("./").rstrip("/")
    return OutputsDocument(
        items=[one for one in outputs.items if is_meant(one.path, (wanted,))],
        missing=[
            one
            for one in outputs.missing
            if is_meant(one.path, (wanted,)) or is_meant(wanted, (one.path,)) or one.path == wanted
        ],
    )


def _targets(found: Sequence[_Left], *, is_array: bool) -> Iterator[_Fetched]:
    for left in found:
        by_rank = _collide(left.outputs.items)
        for file in left.outputs.items:
            folders = [left.job] if is_array else []
            if by_rank:
                folders.append(str(file.rank))
            yield _Fetched(left.job, file, "/".join((*folders, file.path)))


def _collide(files: Sequence[OutputDocument]) -> bool:
    """Two tasks left the same path; or one a file where the other has a folder."""
    owners: dict[str, int] = {}
    for file in files:
        if owners.setdefault(file.path, file.rank) != file.rank:
            return True
    for file in files:
        folder = os.path.dirname(file.path)
        while folder:
            if folder in owners:
                return True
            folder = os.path.dirname(folder)
    return False


def _tell_of_missing(found: Sequence[_Left]) -> int:
    missing = [(left.job, one) for left in found for one in left.outputs.missing]
    for job, one in missing[:_NAMED]:
        talk(f"{one_line(one.path)} is missing: task {one.rank} of job {job} didn't leave it")
    if len(missing) > _NAMED:
        talk(f"… and {len(missing) - _NAMED:,} more are missing; --list shows all")
    return EX_NOT_FOUND if missing else EX_OK


def _tell_of_none(server: Server, job: str, path: str | None, *, is_array: bool) -> int:
    document, spec = _documents(server, job, is_array=is_array)
    if not spec.get("outputs"):
        talk(f"job {job} declares no outputs; name them with --keep, or under `outputs` of its file")
        return EX_NOT_FOUND
    if not (is_array or document.is_over):
        talk(f"job {job} {state_text(document, clock())}; its outputs are kept when its tasks have ended")
        return EX_REFUSED
    wanted = "" if path is None else f' that "{one_line(path)}" means'
    talk(f"job {job} left no file{wanted}; `rota fetch --list {job}` lists its files")
    return EX_NOT_FOUND


def _documents(server: Server, job: str, *, is_array: bool) -> tuple[JobDocument, dict[str, object]]:
    if is_array:
        array = server.array(job)
        return array.array, array.spec
    detail = server.job(job)
    return detail.job, detail.spec


def _table(found: Sequence[_Left]) -> Table:
    several_jobs = len(found) > 1
    columns = ("job", "task", "size", "path") if several_jobs else ("task", "size", "path")
    table = new_table(*columns, right=("task", "size"))
    for left in found:
        job = (left.job,) if several_jobs else ()
        for one in left.outputs.items:
            table.add_row(*job, str(one.rank), amount_text("storage", one.size_bytes), one_line(one.path))
        for gap in left.outputs.missing:
            table.add_row(*job, str(gap.rank), Text("missing", style=BAD), one_line(gap.path))
    return table


def _some(paths: Iterator[str]) -> str:
    shown = [one_line(path) for path in paths]
    if len(shown) == 1:
        return f"{shown[0]} is"
    rest = f" and {len(shown) - _NAMED:,} more" if len(shown) > _NAMED else ""
    return f"{', '.join(shown[:_NAMED])}{rest} are"


def check_options(output: ListFormat | None, *, listing: bool, force: bool) -> None:
    if listing and force:
        raise typer.BadParameter("a list replaces no files", param_hint="--force")
    if output is not None and not listing:
        raise typer.BadParameter("goes with --list", param_hint="--output")
