"""Pictures for the README of a real server with three agents: docs/images/*.svg. See `make screenshots`.

The server, its agents and its jobs live in a temporary folder, and end with this program.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

HERE = Path(__file__).resolve().parent
IMAGES = HERE.parents[1] / "docs/images"
NODES = ("ash", "birch", "cedar")
WIDTH = 100
_START_S = 30.0
_DRAWN_ANEW = re.compile(rb"(?:\x1b\[1A\x1b\[2K)+")
"""How Rich goes back over what it drew before."""
_NOT_COLOUR = re.compile(r"\x1b(?:\[[?>=]?[\d;]*[A-LN-Za-ln-z]|[=>]|\][^\x07]*\x07)")
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


class Picture(msgspec.Struct, frozen=True):
    """What is shown of a command: of one that draws live, its last frame after a while."""

    name: str
    command: tuple[str, ...]
    height: int
    live_s: float = 0.0


PICTURES = (
    Picture("watch", ("rota", "watch"), height=16, live_s=4.0),
    Picture("top", ("rota", "top"), height=14, live_s=4.0),
    Picture("why", ("rota", "why", "render"), height=60),
)


def main() -> int:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rota-pictures.") as folder, ExitStack() as running:
        environment = _environment(Path(folder))
        running.enter_context(_cluster(Path(folder), environment))
        _fill(environment)
        for picture in PICTURES:
            shown = _shown(picture, environment)
            (IMAGES / f"{picture.name}.svg").write_text(_svg(picture, shown), encoding="utf-8")
            print(f"docs/images/{picture.name}.svg")
    return 0


def _environment(folder: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("ROTA_")}
    return ours | {
        "ROTA_SERVER_DATA": str(folder / "server"),
        "ROTA_SERVER_PORT": "0",
        "ROTA_SERVER_EMBEDDED_WORKER": "false",
        "ROTA_WORKER_CPUS": "4",
        "ROTA_WORKER_MEMORY": "16Gi",
        "ROTA_WORKER_ISOLATION": "none",
        "ROTA_WORKER_ALLOW_ROOT": "true",
        "XDG_CONFIG_HOME": str(folder / "config"),
        "COLORTERM": "truecolor",
        "TERM": "xterm-256color",
        "TZ": "UTC",
        "USER": "ada",
    }


@contextmanager
def _cluster(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    with ExitStack() as running:
        policy = str(HERE / "policy.yaml")
        server = ("rota", "server", "--agents", "unix", "--policy", policy)
        running.enter_context(_started(server, folder / "server.log", environment))
        _until(lambda: (folder / "server/server.json").exists(), folder / "server.log")
        for name in NODES:
            agent = ("rota", "agent", "--server", "unix", "--name", name, "--data", str(folder / name))
            running.enter_context(_started(agent, folder / f"{name}.log", environment))
        _until(lambda: len(_output(("rota", "nodes", "-o", "name"), environment).split()) == len(NODES))
        yield
        for job in _output(("rota", "ls", "-o", "name"), environment).split():
            subprocess.run(("rota", "cancel", job), env=environment, check=False, capture_output=True)
        _until(lambda: not _output(("rota", "ls", "-o", "name"), environment))


def _fill(environment: Mapping[str, str]) -> None:
    for project in ("vision", "climate"):
        _output(("rota", "project", "set", project), environment)
    _output(("rota", "submit", str(HERE / "workload.yaml")), environment)
    notebook = ("--name", "notebook", "--queue", "desk", "--cpus", "4", "--time", "15m")
    _output(("rota", "submit", *notebook, "--", "sleep", "60"), environment)
    time.sleep(5)


def _shown(picture: Picture, environment: Mapping[str, str]) -> str:
    """What a terminal of that size shows, with its colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", picture.height, WIDTH, 0, 0))
    process = subprocess.Popen(
        picture.command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    written = _read(ours, picture.live_s or _START_S)
    if picture.live_s:
        os.write(ours, b"q")
    process.wait(_START_S)
    os.close(ours)
    frame = _DRAWN_ANEW.split(written)[-1] if picture.live_s else written
    text = _NOT_COLOUR.sub("", frame.decode(errors="replace")).replace("\r", "")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _read(terminal: int, seconds: float) -> bytes:
    """Until it ends, or for so long."""
    written = b""
    until_s = time.monotonic() + seconds
    while (left_s := until_s - time.monotonic()) > 0:
        ready, _, _ = select.select([terminal], [], [], left_s)
        try:
            piece = os.read(terminal, 65536) if ready else b""
        except OSError:  # Linux says so that nobody has it open any more
            break
        written += piece
    return written


def _svg(picture: Picture, shown: str) -> str:
    # A file that isn't written: the console is only to remember what it was given.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(
            record=True, width=WIDTH, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        console.print(Text.from_ansi(shown), highlight=False)
        title = " ".join(picture.command)
        svg = console.export_svg(title=title, theme=DIMMED_MONOKAI, unique_id=f"rota-{picture.name}")
    # Pictures fetch nothing: the reader's own monospaced font does.
    return _FONT.sub("", svg).replace("Fira Code", "ui-monospace").replace("fira code", "ui-monospace")


@contextmanager
def _started(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator[None]:
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(_START_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _output(command: Sequence[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def _until(is_so: Callable[[], bool], log: Path | None = None) -> None:
    until_s = time.monotonic() + _START_S
    while not is_so():
        if time.monotonic() > until_s:
            sys.exit(log.read_text() if log else "it took too long")
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
