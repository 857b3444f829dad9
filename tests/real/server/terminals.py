"""`rota` at a terminal, as somebody has it in front of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pexpect

from tests.real.server.rota_server import PATIENCE_S, RotaServer


@contextmanager
def at_terminal(server: RotaServer, *words: str) -> Iterator[pexpect.spawn[str]]:
    terminal: pexpect.spawn[str] = pexpect.spawn(
        sys.executable,
        ["-m", "rota", *words],
        env=server.environment,
        cwd=str(server.home),
        encoding="utf-8",
        timeout=int(PATIENCE_S),
        dimensions=(30, 120),
    )
    try:
        yield terminal
    finally:
        terminal.close(force=True)


def ends_with(terminal: pexpect.spawn[str], status: int) -> None:
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == status


def job_of(terminal: pexpect.spawn[str]) -> str:
    terminal.expect(r"job (\d+) \(")
    assert isinstance(terminal.match, re.Match)
    return str(terminal.match[1])
