"""What a job's tasks execute, and how often it is tried again, as the model has it."""

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from signal import Signals

from msgspec import UNSET, UnsetType

from rota.intake.checking.fields import Amount, Field
from rota.intake.checking.wording import nearest, quoted
from rota.intake.forms.jobs import RUN_FIELDS, InputFileForm, RetryForm, RunForm
from rota.intake.parts.templates import read_duration_ms
from rota.intake.parts.writing import Plain, duration_text, given, unless
from rota.model.ids import Labels
from rota.model.interning import Interned, fingerprint
from rota.model.quantities import format_duration, parse_duration_ms
from rota.model.run import (
    BACKOFF_MS,
    MAX_BACKOFF_MS,
    MOST_RETRIES,
    WINDOW,
    InputFile,
    Retry,
    Run,
    Stdin,
)

MAX_GRACE_MS = 3_600_000
"""A task that is told to stop holds its room for so long at most: others wait for it."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|BASH_FUNC_[^=\x00-\x20]+%%", re.ASCII)
"""Bash exports a function, as `module` is one, in a variable of such a name."""
SECRET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
MOST_SECRETS = 32
_SHELL_ONLY = frozenset(("|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1", "&>"))
_CANNOT_BE_CAUGHT = (Signals.SIGKILL, Signals.SIGSTOP)

Stage = Callable[[InputFileForm, Field], tuple[str, int]]
"""The SHA-256 and the size of what an input file is to hold."""
OnWarning = Callable[[Field, str], None]


def stage_uploaded(form: InputFileForm, at: Field) -> tuple[str, int]:
    """Of a file whose content the server has."""
    if form.source is not UNSET:
        raise at.at("from").error(
            "a server can't read files of your machine", "upload the content, and give its sha256 and size"
        )
    return _stated_content(form, at)


def _stated_content(form: InputFileForm, at: Field) -> tuple[str, int]:
    if form.sha256 is UNSET or form.size is UNSET:
        missing = "sha256" if form.sha256 is UNSET else "size"
        raise at.at(missing).error("is missing", "say by sha256 and size what the file holds")
    if not _SHA256.fullmatch(form.sha256):
        raise at.at("sha256").error(
            f"{quoted(form.sha256)} is not a SHA-256", "give 64 hexadecimal digits in lower case"
        )
    return form.sha256, form.size


class RunReader:
    """Equal runs become one object. What is odd but allowed is told to `on_warning`."""

    def __init__(self, stage: Stage, on_warning: OnWarning) -> None:
        self._stage = stage
        self._on_warning = on_warning
        self._runs: dict[bytes, Run] = {}
        self._intern = Interned[Run]()

    def read(self, form: RunForm, time_limit_ms: int | None, at: Field) -> Run:
        kind = fingerprint(at.data, RUN_FIELDS)
        run = self._runs.get(kind)
        if run is None:
            run = self._runs[kind] = self._intern(self._read(form, time_limit_ms, at))
        return run

    def _read(self, form: RunForm, time_limit_ms: int | None, at: Field) -> Run:
        command = self._command(form, at)
        defaults = Run()
        warn_signal, warn_before_ms = _warning(form, time_limit_ms, at.at("warn"))
        return Run(
            command=command,
            script="" if form.script is UNSET else form.script,
            directory=_directory(form.directory, at.at("directory")),
            environment=read_environment(form, at.at("environment")),
            secrets=_secrets(form, at.at("secrets")),
            files=self._files(form.files, at.at("files")),
            outputs=_outputs(form.outputs, at.at("outputs")),
            warn_signal=warn_signal,
            warn_before_ms=warn_before_ms,
            grace_ms=defaults.grace_ms if form.grace is UNSET else _grace_ms(form, at.at("grace")),
            slurm_names=form.slurm_names,
            script_name=_without_nul(form.script_name, at.at("script_name")),
            stdout=_written_to(form.stdout, form, at.at("stdout")),
            stderr=_written_to(form.stderr, form, at.at("stderr")),
            append=form.append,
            stdin=form.stdin,
            window=form.window,
        )

    def _command(self, form: RunForm, at: Field) -> tuple[str, ...]:
        for index, argument in enumerate(form.args):
            _refuse_nul(argument, at.at("args", index))
        if form.script is not UNSET:
            if form.command is not UNSET:
                raise at.at("command").error("a job has either a command or a script", "remove one of them")
            if not form.script.strip():
                raise at.at("script").error("is empty", "write the command to run")
            _refuse_nul(form.script, at.at("script"))
            return form.args
        if form.command is UNSET:
            raise at.error("the job has neither a command nor a script", "give it a command or a script")
        command_at = at.at("command")
        if isinstance(form.command, str):
            command = self._split(form.command, command_at)
        else:
            command = form.command
            for index, word in enumerate(command):
                _refuse_nul(word, command_at.at(index))
        if not command or not command[0]:
            raise command_at.error("names no program", 'write it like ["python3", "train.py"]')
        return (*command, *form.args)

    def _split(self, text: str, at: Field) -> tuple[str, ...]:
        _refuse_nul(text, at)
        try:
            words = tuple(shlex.split(text))
        except ValueError:
            raise at.error(
                "a quotation mark is not closed, or a backslash is last", "close it, or write a list"
            ) from None
        odd = next((word for word in words if word in _SHELL_ONLY), None)
        if odd is not None:
            self._on_warning(
                at, f"{quoted(odd)} is passed to the program unchanged; use script for shell syntax"
            )
        return words

    def _files(self, forms: Sequence[InputFileForm], at: Field) -> tuple[InputFile, ...]:
        files: dict[str, InputFile] = {}
        for index, form in enumerate(forms):
            file_at = at.at(index)
            is_root = form.unpack and PurePosixPath(form.path) == PurePosixPath(".")
            path = "." if is_root else _path_within(form.path, file_at.at("path"))
            if path in files:
                raise file_at.at("path").error(f"{quoted(path)} is there already", "remove one")
            sha256, size_bytes = self._stage(form, file_at)
            files[path] = InputFile(path, sha256, size_bytes, form.executable, form.unpack)
        return tuple(files.values())


def read_environment(form: RunForm, at: Field) -> Labels:
    for name, value in form.environment.items():
        _check_variable(name, at)
        _refuse_nul(value, at.at(name))
    return tuple(sorted(form.environment.items()))


def _secrets(form: RunForm, at: Field) -> Labels:
    if len(form.secrets) > MOST_SECRETS:
        raise at.error(f"{len(form.secrets)} secrets are too many", f"name at most {MOST_SECRETS}")
    for variable, name in form.secrets.items():
        _check_variable(variable, at)
        if not SECRET_NAME.fullmatch(name):
            raise at.at(variable).error(
                f"{quoted(name)} is not a name of a secret", "use letters, digits, '.', '_' and '-'"
            )
        if variable in form.environment:
            raise at.at(variable).error("is in environment as well", "remove one of them")
    return tuple(sorted(form.secrets.items()))


def is_variable(name: str) -> bool:
    return _VARIABLE.fullmatch(name) is not None


def _check_variable(name: str, at: Field) -> None:
    if not is_variable(name):
        raise at.at(name).error(
            f"{quoted(name)} is not a name of a variable", "use letters, digits and _, not a digit first"
        )


def read_retry(form: RunForm, at: Field) -> Retry:
    retry = form.retry
    limit = retry.limit if isinstance(retry, RetryForm) else retry
    if limit > MOST_RETRIES:
        raise (at.at("limit") if isinstance(retry, RetryForm) else at).error(
            f"{limit:,} retries are too many", f"ask for at most {MOST_RETRIES:,}"
        )
    if not isinstance(retry, RetryForm):
        return Retry(retry)
    pauses_ms = read_pauses(retry.backoff, retry.max_backoff, at)
    return Retry(retry.limit, *pauses_ms, tuple(sorted(set(retry.exit_codes))))


def check_input(run: Run, retry: Retry, task_count: int, *, is_array: bool, at: Field) -> None:
    """What a job reads is sent once, to one task, while it runs: nobody has it any more for another start."""
    if not run.takes_input:
        return
    refused = {
        "an array has many jobs, and input goes to one": is_array,
        f"the job has {task_count} tasks, and input goes to one": task_count > 1,
        "its input is sent once, and would be missing when it is retried": retry.limit > 0,
    }
    for why, is_so in refused.items():
        if is_so:
            raise at.at("stdin").error(why, "leave out stdin, or give what it reads as a file")


def read_pauses(
    backoff: Amount | UnsetType, max_backoff: Amount | UnsetType, at: Field
) -> tuple[int | None, int | None]:
    """The first pause before a retry, and the longest, in milliseconds; None: nothing is said of it."""
    first_ms, longest_ms = (
        None if value is UNSET else at.at(name).read(parse_duration_ms, value)
        for name, value in (("backoff", backoff), ("max_backoff", max_backoff))
    )
    shown_ms = BACKOFF_MS if first_ms is None else first_ms
    most_ms = MAX_BACKOFF_MS if longest_ms is None else longest_ms
    if shown_ms > most_ms:
        raise at.at("backoff" if max_backoff is UNSET else "max_backoff").error(
            f"the first pause, {format_duration(shown_ms)}, is longer than the longest, "
            f"{format_duration(most_ms)}",
            "raise max_backoff, or lower backoff",
        )
    return first_ms, longest_ms


def _warning(form: RunForm, time_limit_ms: int | None, at: Field) -> tuple[str, int]:
    """The signal, and how long before the time limit it is sent."""
    defaults = Run()
    if form.warn is UNSET:
        return defaults.warn_signal, defaults.warn_before_ms
    before_ms = read_duration_ms(form.warn.before, at.at("before"))
    assert before_ms is not None
    if time_limit_ms is None:
        raise at.error("there is no time limit to warn of", "add time_limit")
    if before_ms >= time_limit_ms:
        raise at.at("before").error(
            f"its time limit is {format_duration(time_limit_ms)}, no longer than that", "give less"
        )
    return _signal_name(form.warn.signal, at.at("signal")), before_ms


def _signal_name(form: str | int, at: Field) -> str:
    known = {one.name: one for one in Signals}
    if isinstance(form, int) or form.isdecimal():
        by_number = {one.value: one for one in Signals}
        signal = by_number.get(int(form)) if len(str(form)) < 4 else None
    else:
        name = form.upper()
        signal = known.get(name) or known.get(f"SIG{name}")
    if signal is None:
        meant = nearest(str(form), known)
        raise at.error(
            f"there is no signal {quoted(str(form))}",
            f"did you mean {quoted(meant)}?" if meant else "name one, as in SIGUSR1",
        )
    if signal in _CANNOT_BE_CAUGHT:
        raise at.error(f"no program can catch {signal.name}", "choose another, as SIGTERM or SIGUSR1")
    return signal.name


def _grace_ms(form: RunForm, at: Field) -> int:
    grace_ms = at.read(parse_duration_ms, form.grace)
    if grace_ms > MAX_GRACE_MS:
        raise at.error(
            "other jobs would wait that long for its resources",
            f"give at most {format_duration(MAX_GRACE_MS)}",
        )
    return grace_ms


def _directory(text: str, at: Field) -> str:
    _refuse_nul(text, at)
    if text and not text.startswith("/"):
        raise at.error(
            f"{quoted(text)} is a relative path",
            "give a path that begins with /, or leave it out for a folder of its own",
        )
    return text


def _without_nul(text: str, at: Field) -> str:
    _refuse_nul(text, at)
    return text


def _written_to(text: str, form: RunForm, at: Field) -> str:
    _refuse_nul(text, at)
    if text and not (text.startswith("/") or form.directory):
        raise at.error(
            f"{quoted(text)} would be removed with the folder of the task",
            "give a directory as well, or a path that begins with /",
        )
    return text


def _outputs(texts: Sequence[str], at: Field) -> tuple[str, ...]:
    return tuple(sorted({_path_within(text, at.at(index)) for index, text in enumerate(texts)}))


def _path_within(text: str, at: Field) -> str:
    """A path below the task's folder, in its shortest form."""
    _refuse_nul(text, at)
    path = PurePosixPath(text)
    if not path.parts or path.is_absolute() or ".." in path.parts:
        raise at.error(
            f"{quoted(text)} is not a path within the task's folder", "give a relative path without .."
        )
    return str(path)


def _refuse_nul(text: str, at: Field) -> None:
    if "\0" in text:
        raise at.error("contains a null character", "remove it")


def run_form(run: Run) -> Plain:
    defaults = Run()
    what = {"script": run.script, "args": list(run.command)} if run.script else {"command": list(run.command)}
    warn = {"signal": run.warn_signal, "before": format_duration(run.warn_before_ms)}
    return {
        **what,
        "directory": run.directory,
        "environment": dict(run.environment),
        "secrets": dict(run.secrets),
        "files": [_file_form(file) for file in run.files],
        "outputs": list(run.outputs),
        "warn": warn if run.warn_before_ms else None,
        "grace": duration_text(None if run.grace_ms == defaults.grace_ms else run.grace_ms),
        "slurm_names": run.slurm_names,
        "script_name": run.script_name,
        "stdout": run.stdout,
        "stderr": run.stderr,
        "append": run.append,
        "stdin": unless(run.stdin, Stdin.NONE),
        "window": None if run.window == WINDOW else list(run.window),
    }


def _file_form(file: InputFile) -> Plain:
    return {
        "path": file.path,
        "sha256": file.sha256,
        "size": file.size_bytes,
        **given({"executable": file.executable, "unpack": file.unpack}),
    }
