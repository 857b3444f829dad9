"""The README's commands, all of them, by somebody who has just cloned Rota."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import json

from tests.first_hour.newcomer import blocks, clone, with_nothing
from tests.first_hour.terminal import Terminal
from tests.real.conftest import missing
from tests.real.kube.cluster import TOKENS
from tests.real.kube.control_plane import ControlPlane, Missing, programs

DATA = Path(__file__).parents[1] / "data"
OURS = '{"spec": {"schedulerName": "batch-scheduler"}}'
SELF = "make test"
"""The one that isn't run by a test: it runs this one."""


class Newcomer:
    """Types what the README says, line by line, each heading where it makes sense."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.lines = blocks("sh")
        self.environment = with_nothing(home)
        self.first = Terminal(home, "first", self.environment)
        clone(home / "checkout")

    def types(self, line: str) -> str:
        printed = self.first.run(line)
        assert self.first.status == 0, f"{line}\n" + "\n".join(printed)
        return "\n".join(printed)

    def takes(self, title: str) -> Iterator[str]:
        """The lines below a heading, each once."""
        lines = self.lines.pop(title)
        while lines:
            yield lines.pop(0)

    @contextmanager
    def lasting(self, line: str, name: str, **environment: str) -> Iterator[Terminal]:
        """Something that goes on in a terminal of its own, until Ctrl-C."""
        terminal = Terminal(self.home, name, self.environment | environment)
        try:
            terminal.run(f"source {self.home}/rota/bin/activate")
            terminal.begin(line)
            shown = "\n".join(terminal.settled())
            assert not terminal.is_over, f"{line}\n{shown}"
            yield terminal
            terminal.interrupt()
            terminal.end()
        finally:
            terminal.close()


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    somebody = Newcomer(tmp_path)
    yield somebody
    somebody.first.close()


@pytest.mark.covers("first-6")
def test_every_command_of_the_readme(newcomer: Newcomer) -> None:
    _install(newcomer)
    _on_a_laptop(newcomer)
    _for_a_team(newcomer)
    _on_kubernetes(newcomer)
    _for_users_of_slurm(newcomer)
    assert newcomer.lines == {}, "the README has commands that no test runs"


def _install(newcomer: Newcomer) -> None:
    newcomer.types("cd ~/checkout")
    for line in newcomer.takes("Install"):
        if not line.startswith(SELF):
            newcomer.types(line)


def _on_a_laptop(newcomer: Newcomer) -> None:
    project = newcomer.home / "project"
    project.mkdir()
    (project / "Makefile").write_text("all:\n\techo built\n")
    (project / "simulate").write_text(
        "#!/bin/sh\nwhile [ ! -e may_end ]; do sleep 0.2; done; echo simulated\n"
    )
    (project / "simulate").chmod(0o755)
    newcomer.types(f"cd {project}")
    lines = newcomer.takes("On a laptop")
    with newcomer.lasting(next(lines), "server"):
        assert "built" in newcomer.types(next(lines))
        assert "submitted" in newcomer.types(next(lines))
        for line in lines:
            if "logs -f" in line:
                (project / "may_end").touch()
            newcomer.first.begin(line)
            if "rota watch" in line:
                newcomer.first.settled()
                newcomer.first.press("q")
            printed = newcomer.first.end()
            assert newcomer.first.status == 0, f"{line}\n" + "\n".join(printed)
        _python(newcomer)


def _python(newcomer: Newcomer) -> None:
    (lines,) = blocks("python").values()
    program = "def simulate(number):\n    return number\n\n\n" + "\n".join(lines) + "\n"
    (newcomer.home / "project" / "program.py").write_text(textwrap.dedent(program))
    assert str(sum(range(1000))) in newcomer.types("python program.py")


def _for_a_team(newcomer: Newcomer) -> None:
    lines = newcomer.takes("For a team")
    with newcomer.lasting(next(lines), "team", ROTA_WORKER_NAME="n7"):
        token = newcomer.types(next(lines)).split()[-1]
        agent = {"ROTA_JOIN_TOKEN": token, "XDG_DATA_HOME": str(newcomer.home / "agent")}
        with newcomer.lasting(next(lines), "agent", **agent):
            for line in lines:
                newcomer.types(line)
            assert len(newcomer.types("rota nodes -o name").splitlines()) == 2
        newcomer.types("rota queues open default; rota nodes uncordon n7; rota maintenance rm upgrade")


def _on_kubernetes(newcomer: Newcomer) -> None:
    try:
        control_plane = ControlPlane()
    except Missing as error:
        missing(str(error))
    with control_plane:
        token, _ = TOKENS["admin"]
        kubeconfig = newcomer.home / "kubeconfig"
        kubeconfig.write_bytes(json.encode(control_plane.cluster.kubeconfig({"token": token})))
        newcomer.types(f"export KUBECONFIG={kubeconfig} PATH=$PATH:{programs()}; cd ~/checkout")
        newcomer.types(f"kubectl run train-0 --image=busybox --overrides='{OURS}'")
        for line in newcomer.takes("On Kubernetes"):
            newcomer.first.run(line)
            assert newcomer.first.status in (0, 2), line  # 2: the pod waits


def _for_users_of_slurm(newcomer: Newcomer) -> None:
    folder = newcomer.home / "site"
    shutil.copytree(newcomer.home / "checkout" / "examples" / "day", folder)
    shutil.copy(DATA / "traces" / "sacct.txt", folder)
    (folder / "job.sbatch").write_text("#!/bin/bash\n#SBATCH --time=5\n#SBATCH --cpus-per-task=2\necho ran\n")
    newcomer.types(f"cd {folder}")
    with newcomer.lasting("rota server", "server again"):
        for line in newcomer.takes("For users of Slurm"):
            newcomer.types(line)
