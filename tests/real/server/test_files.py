"""Files that go along with a command, and those that it leaves, on a real server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.real.server.rota_server import RotaServer, rota_in

pytestmark = pytest.mark.covers("first-1")

SCRIPT = """#!/bin/sh
mkdir -p out/bin empty
wc -l < src/data/in.csv > out/lines-$ROTA_RANK.txt
cp "$0" out/bin/$ROTA_RANK.sh
ln -s /etc/passwd out/link
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    (folder / "src/data").mkdir(parents=True)
    (folder / "src/data/in.csv").write_text("a\nb\n")
    (folder / "src/go.sh").write_text(SCRIPT)
    (folder / "src/go.sh").chmod(0o755)
    return folder


def test_a_folder_there_and_files_back(server: RotaServer, project: Path) -> None:
    done = rota_in(
        project, server, "run", "--clean", "--name", "round", "--file", "src", "--keep", "out/**", "--keep",
        "gone.txt", "--", "src/go.sh",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    fetched = rota_in(project, server, "fetch", "round", "--to", "back")
    assert fetched.returncode == 3
    assert "gone.txt is missing" in fetched.stderr
    assert (project / "back/out/lines-0.txt").read_text().strip() == "2"
    assert (project / "back/out/bin/0.sh").read_text() == SCRIPT
    assert os.access(project / "back/out/bin/0.sh", os.X_OK)
    found = {path.name for path in (project / "back").rglob("*") if not path.is_dir()}
    assert found == {"lines-0.txt", "0.sh"}
    again = rota_in(project, server, "fetch", "round", "out", "--to", "back")
    assert (again.returncode, "already there" in again.stderr) == (1, True)
    assert rota_in(project, server, "fetch", "round", "out/bin", "--to", "back", "--force").returncode == 0
    listed = rota_in(project, server, "fetch", "round", "--list", "-o", "name")
    assert sorted(listed.stdout.split()) == ["out/bin/0.sh", "out/lines-0.txt"]


def test_a_checkout_and_a_commit(server: RotaServer, project: Path) -> None:
    for words in (("init", "-q"), ("add", "src/go.sh"), ("commit", "-qm", "first")):
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *who, *words], cwd=project, check=True)
    shown = ("--", "find", "src", "-type", "f")
    now = rota_in(project, server, "run", "--clean", "--git", *shown)
    assert sorted(now.stdout.split()) == ["src/data/in.csv", "src/go.sh"], now.stderr
    then = rota_in(project, server, "run", "--clean", "--git-ref", "HEAD", *shown)
    assert then.stdout.split() == ["src/go.sh"], then.stderr


def test_files_of_arrays_and_of_several_tasks(server: RotaServer, project: Path) -> None:
    submit = ("submit", "--clean", "-o", "name")
    left = ("--keep", "x", "--", "sh", "-c", 'echo "$ROTA_ARRAY_INDEX $ROTA_RANK" > x')
    array = rota_in(project, server, *submit, "--array", "0-1", *left).stdout.strip()
    gang = rota_in(project, server, *submit, "--tasks", "2", *left).stdout.strip()
    assert rota_in(project, server, "wait", array, gang).returncode == 0
    for words in ((array, "--to", "all"), (f"{array}_1", "--to", "one"), (gang, "--to", "gang")):
        done = rota_in(project, server, "fetch", *words)
        assert done.returncode == 0, done.stderr
    texts = {str(path.relative_to(project)): path.read_text().split() for path in project.rglob("x")}
    assert texts == {
        f"all/{array}.0/x": ["0", "0"],
        f"all/{array}.1/x": ["1", "0"],
        "one/x": ["1", "0"],
        "gang/0/x": ["0"],
        "gang/1/x": ["1"],
    }
