"""The shell scripts that run in pods, and the arguments that each is given."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from rota.backends.backend import TaskStart

WORKSPACE = "/github/workspace"
TEMP = "/runner/temp"
TOOLS = "/opt/hostedtoolcache"
FOLDER = f"{TEMP}/.rota"
"""Where shim, setup and log-collector meet."""
PAYLOAD = "/rota/payload"
_SHELL = "/bin/sh"


@cache
def script(name: str) -> str:
    return files(__package__).joinpath(f"{name}.sh").read_text("utf-8")


def setup_command(start: TaskStart) -> list[str]:
    hosts = "".join(f"{host}\n" for host in start.hosts)
    return [
        _SHELL,
        "-c",
        script("setup"),
        "setup",
        FOLDER,
        script("shim"),
        hosts,
        "files" if start.run.files else "",
    ]


def runner_command(start: TaskStart) -> list[str]:
    run = start.run
    command = list(run.command)
    if run.script:
        interpreter = [] if run.script.startswith("#!") else [_SHELL]
        command = [*interpreter, f"{FOLDER}/script", *command]
    out, err = f"{FOLDER}/out", f"{FOLDER}/err"
    if run.stdout:
        out = err = _below(run.stdout, run.directory)
    if run.stderr:
        err = _below(run.stderr, run.directory)
    return [
        _SHELL,
        f"{FOLDER}/shim",
        FOLDER,
        _hundredths(start.time_limit_ms),
        _hundredths(start.end_before_ms),
        _hundredths(run.grace_ms),
        run.warn_signal.removeprefix("SIG"),
        _hundredths(run.warn_before_ms),
        run.directory or WORKSPACE,
        out,
        err,
        "fresh" if (run.stdout or run.stderr) and not run.append else "",
        *command,
    ]


def is_shared(directory: str) -> bool:
    """Whether setup and log-collector see it, too; empty: where tasks run that name none."""
    parts = directory.split("/")
    return not directory or (
        ".." not in parts and any(f"{directory}/".startswith(f"{top}/") for top in (WORKSPACE, TEMP))
    )


def stage_command(size_bytes: int, directory: str = "") -> list[str]:
    return [_SHELL, "-c", script("stage"), "stage", FOLDER, directory or WORKSPACE, str(size_bytes)]


def follow_command(out_bytes: int, err_bytes: int, *, is_final: bool = False) -> list[str]:
    final = "final" if is_final else ""
    return [_SHELL, "-c", script("follow"), "follow", FOLDER, str(out_bytes), str(err_bytes), final]


def list_command(directory: str = "") -> list[str]:
    return [_SHELL, "-c", script("list"), "list", directory or WORKSPACE]


def collect_command(names_bytes: int, directory: str = "") -> list[str]:
    return [_SHELL, "-c", script("collect"), "collect", FOLDER, directory or WORKSPACE, str(names_bytes)]


def stop_command() -> list[str]:
    """Run in the runner: the shim is the first process there."""
    return [_SHELL, "-c", f": >{FOLDER}/stop; kill -TERM 1"]


def limit_command(time_limit_ms: int) -> list[str]:
    new = f"{FOLDER}/limit.new"
    return [_SHELL, "-c", f"echo {_hundredths(time_limit_ms)} >{new} && mv {new} {FOLDER}/limit"]


KEEP_OPEN = [_SHELL, "-c", "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"]
"""What the log-collector does by itself: the volumes are there as long as it is."""


def _below(path: str, directory: str) -> str:
    return path if path.startswith("/") else f"{directory or WORKSPACE}/{path}"


def _hundredths(ms: int | None) -> str:
    """Of seconds; rounded up, so that nothing ends too early."""
    return "-" if ms is None else str(-(-ms // 10))
