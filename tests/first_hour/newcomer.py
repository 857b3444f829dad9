"""Somebody who has just cloned Rota: a home, the checkout in it, and Rota installed as the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.first_hour.play import surroundings

PROJECT = Path(__file__).parents[2]
README = PROJECT / "README.md"
_HEADING = re.compile(r"^## (?P<title>.+)$")
_BLOCK = re.compile(r"^```(?P<language>sh|python)$")


def blocks(language: str) -> dict[str, list[str]]:
    """The lines of the README's blocks in a language, by the heading that they are below."""
    found: dict[str, list[str]] = {}
    title, inside = "", False
    for line in README.read_text(encoding="utf-8").splitlines():
        if heading := _HEADING.match(line):
            title = heading["title"]
        elif line == "```":
            inside = False
        elif block := _BLOCK.match(line):
            inside = block["language"] == language
        elif inside:
            found.setdefault(title, []).append(line)
    return found


def clone(folder: Path) -> None:
    """What a clone of this tree would have: all that git would take."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        check=True,
        capture_output=True,
    )
    names = filter(None, listed.stdout.split(b"\0"))
    there = b"\0".join(name for name in names if (PROJECT / os.fsdecode(name)).exists())
    folder.mkdir()
    pack = ["tar", "--create", "--null", "--files-from=-"]
    packed = subprocess.run(pack, cwd=PROJECT, input=there, check=True, capture_output=True)
    subprocess.run(["tar", "--extract"], cwd=folder, input=packed.stdout, check=True)


def with_nothing(home: Path) -> dict[str, str]:
    """As `surroundings`, but Rota is yet to be installed, and the ports are those of a real server."""
    environment = surroundings(home)
    ours = str(Path(sys.executable).parent)
    path = [folder for folder in environment["PATH"].split(":") if folder != ours]
    return environment | {"PATH": ":".join([str(Path(sys.base_prefix) / "bin"), *path])}
