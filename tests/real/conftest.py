"""Real components, started for the tests. What is missing skips a test, but fails it where CI=true."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests.real.postgres import Missing, Postgres


def missing(what: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"missing, and CI is to have it: {what}")
    pytest.skip(what)


def mount_disk(folder: Path, options: str) -> None:
    """A disk of its own, in memory. Whoever mounts it unmounts it."""
    if os.geteuid() != 0:
        missing("only root can mount a disk")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True
    )
    if done.returncode != 0:
        missing(f"a disk can't be mounted here: {done.stderr.strip()}")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    try:
        server = Postgres()
    except Missing as error:
        missing(str(error))
    yield server
    server.remove()


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """Of a database that is empty, and this test's alone."""
    return postgres.new_database()
