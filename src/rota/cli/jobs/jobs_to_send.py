"""Jobs from the command line: checked here, and sent with their input files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from rota.api.jobs import Submitted
from rota.cli.chosen_context import chosen_context
from rota.cli.client.connection import Server
from rota.cli.job_options import JobOptions, job_of, option_of
from rota.cli.jobs.after import with_ids
from rota.cli.jobs.parts import submit_in_parts
from rota.cli.jobs.surroundings import as_here, surroundings_of
from rota.cli.later import typer
from rota.cli.output import talk
from rota.intake.errors import InputError
from rota.intake.job_files import JobFile, job_file_of, read_standard_input, read_submission_file
from rota.sdk.errors import TooLarge
from rota.settings.contexts import current_context
from rota.settings.load import load_settings
from rota.settings.paths import default_files
from rota.views.amounts import amount_text

_STANDARD_INPUT = "-"
_ADDED_TO = ("depends_on", "files", "outputs")


def read_jobs(
    file: str | None,
    command: Sequence[str],
    options: JobOptions,
    fields: Mapping[str, object] = MappingProxyType({}),
) -> JobFile:
    """The jobs of a file, changed by the options; or a job for a command. For a script, `command` has its
    arguments. `fields`: of a job for a command, where the options say nothing else."""
    if file is None and not command:
        raise typer.BadParameter("give a file, or a command after --", param_hint="FILE")
    options = with_ids(options)
    project = context_project()
    default: dict[str, object] = {"project": project} if project else {}
    if file is None:
        job = _merged({**default, **fields}, job_of(options, command, os.environ))
        return _checked([as_here(job, options, os.environ)])
    # Only here, and below: a command needs none of it.
    from shutil import which

    from rota.intake.sbatch import with_array_names

    if file != _STANDARD_INPUT and not os.path.exists(file) and which(file):
        raise typer.BadParameter(
            f'there is no file "{file}"; a command stands after `--`: `-- {shlex.join((file, *command))}`',
            param_hint="FILE",
        )
    raw = read_standard_input() if file == _STANDARD_INPUT else None
    given = job_of(options, (), os.environ)
    is_of_slurm = _is_script(file, raw)
    if is_of_slurm:
        found = _read_script(file, raw, command, given, options)
    elif command:
        raise typer.BadParameter(f"give either the file {file} or a command, not both", param_hint="FILE")
    else:
        found = read_submission_file(file, raw=raw)
    for warning in found.submission.warnings:
        talk(f"warning: {file}: {warning}")
    if given or default:
        changed = _checked([_merged({**default, **job}, given) for job in found.jobs])
        found = JobFile(changed.jobs, changed.submission, (*found.uploads, *changed.uploads))
    return with_array_names(found) if is_of_slurm else found


def _merged(job: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """A job of a file, changed by the command line, which wins. Mappings are merged."""
    result = dict(job)
    for field, value in given.items():
        there = result.get(field)
        if isinstance(there, dict) and isinstance(value, dict):
            result[field] = {**there, **value}
        elif isinstance(there, list) and isinstance(value, list) and field in _ADDED_TO:
            result[field] = [*there, *value]
        else:
            result[field] = value
    return result


def context_project() -> str:
    """The project of jobs that name none; empty: the server decides."""
    flags = {"client.context": chosen_context()}
    return current_context(load_settings(default_files(os.environ), os.environ, flags)).project


def _is_script(file: str, raw: bytes | None) -> bool:
    from rota.intake.sbatch import is_script

    if raw is not None:
        return is_script(raw)
    try:
        with open(file, "rb") as opened:
            return is_script(opened.read(2))
    except OSError:
        # Reading it as a file of jobs reports the error.
        return False


def _read_script(
    file: str, raw: bytes | None, arguments: Sequence[str], given: Mapping[str, object], options: JobOptions
) -> JobFile:
    """As with sbatch, it runs in the folder it is submitted from, with the environment of this shell."""
    from rota.intake.sbatch import read_sbatch

    here = surroundings_of(given, options, os.environ)
    return read_sbatch(
        file,
        now=datetime.now(UTC).astimezone(),
        raw=raw,
        args=arguments,
        directory=here.directory,
        node_selector=here.node_selector,
        submitted_from=os.getcwd(),
        environ=os.environ,
        taken_along=here.environment,
    )


def send(server: Server, jobs: JobFile, *, dry_run: bool = False) -> Submitted:
    """Raises CutShort if only some of them were committed."""
    upload(server, jobs)
    answer = submit_in_parts(server, jobs, dry_run=dry_run)
    for warning in answer.warnings:
        talk(f"warning: {warning}")
    return answer


def upload(server: Server, jobs: JobFile) -> None:
    for one in jobs.uploads:
        with open(one.path, "rb") as file:
            data = file.read()
        try:
            digest = server.upload(data)
        except TooLarge as error:
            raise _too_large(one.path, len(data), error) from None
        if digest != one.sha256:
            raise typer.BadParameter(f"{one.path} changed while it was read; try again", param_hint="--file")


def _too_large(path: str, size_bytes: int, error: TooLarge) -> TooLarge:
    size = amount_text("storage", size_bytes)
    return TooLarge(
        f"{os.path.basename(path)} has {size}, more than the server takes as one file",
        help="leave out what the job doesn't need, or have server.limits.upload raised",
        kind=error.kind,
        status=error.status,
    )


def _checked(jobs: Sequence[dict[str, object]]) -> JobFile:
    """Errors name the option that the value comes from."""
    try:
        return job_file_of(jobs)
    except InputError as error:
        told = [_refusal(one) for one in error.all]
        if None in told:
            raise
        *others, last = filter(None, told)
        for one in others:
            talk(one.format_message())
        raise last from None


def _refusal(error: InputError) -> typer.BadParameter | None:
    """None: the value comes from no option."""
    option = option_of(error.field)
    told = f"{error.problem}; {error.remedy}" if error.remedy else error.problem
    return None if option is None else typer.BadParameter(told, param_hint=option)
