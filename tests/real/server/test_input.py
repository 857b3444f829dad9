"""What is put into `rota run` comes out of its command: from pipes, files and terminals."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pexpect
import pytest

from rota.lifecycle.state import Phase
from rota.sdk.errors import Conflict
from tests.real.process.host import keeper_of
from tests.real.server.rota_server import PATIENCE_S, RotaServer, eventually, shell
from tests.real.server.terminals import at_terminal, ends_with, job_of

CAT = ("run", "--time", "1m", "--", "cat")


def rota(server: RotaServer, *words: str, **how: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "rota", *words],
        env=server.environment,
        cwd=server.home,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        **how,
    )


@pytest.mark.covers("first-1")
@pytest.mark.parametrize(
    "data", [b"data\n", b"", bytes(range(256)) * (20 << 10)], ids=["line", "none", "5 MiB"]
)
def test_what_is_piped_in_comes_out(server: RotaServer, data: bytes) -> None:
    done = rota(server, *CAT, input=data)
    assert (done.returncode, hashlib.sha256(done.stdout).digest()) == (0, hashlib.sha256(data).digest())


def test_nothing_is_read_of_dev_null_or_when_told_not_to(server: RotaServer) -> None:
    assert rota(server, *CAT, stdin=subprocess.DEVNULL).stdout == b""
    assert rota(server, "run", "--no-stdin", "--", "cat", input=b"x").stdout == b""


def test_who_reads_only_the_beginning_ends_like_head(server: RotaServer) -> None:
    done = rota(server, "run", "--time", "1m", "--", "head", "-c", "4", input=b"data" * (2 << 20))
    assert (done.returncode, done.stdout) == (0, b"data")


def test_several_tasks_have_no_input_and_that_is_told(server: RotaServer) -> None:
    done = rota(server, "run", "--tasks", "2", "--", "cat", input=b"x")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"reads nothing of standard input, because it has 2 tasks" in done.stderr


def test_nothing_is_lost_when_the_server_is_started_anew(server: RotaServer) -> None:
    command = [sys.executable, "-m", "rota", *CAT]
    with subprocess.Popen(
        command, env=server.environment, cwd=server.home, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b"before\n")
        running.stdin.flush()
        assert running.stdout.readline() == b"before\n"
        server.kill()
        running.stdin.write(b"meanwhile\n")
        running.stdin.flush()
        server.start()
        running.stdin.write(b"after\n")
        running.stdin.close()
        assert running.stdout.read() == b"meanwhile\nafter\n"
        assert running.wait(PATIENCE_S) == 0


def test_a_job_without_its_keeper_fails_in_plain_words(server: RotaServer) -> None:
    job = server.submit_one(shell("cat", stdin="pipe"))
    eventually(lambda: server.client.job(job).job.phase is Phase.RUNNING)
    assert server.client.send_input(job, b"lost").taken == 4
    os.kill(keeper_of(server.data / "worker"), signal.SIGKILL)
    over = server.over(job)
    assert (over.phase, over.cause is not None and over.cause.value) == (Phase.FAILED, "input-lost")
    assert "the keeper ended before the task had all its input" in over.message


def test_what_takes_no_input_refuses_it(server: RotaServer) -> None:
    job = server.submit_one(shell("sleep 60"))
    eventually(lambda: server.client.job(job).job.phase is Phase.RUNNING)
    with pytest.raises(Conflict, match="takes no input"):
        server.client.send_input(job, b"x")
    server.client.cancel(job)


# -- at a terminal


@pytest.mark.covers("first-1")
def test_a_shell_at_a_terminal(server: RotaServer, tmp_path: Path) -> None:
    with at_terminal(server, "run", "--time", "2m", "--pty", "--", "bash", "--norc", "-i") as terminal:
        job_of(terminal)
        terminal.sendline("PS1='$ '; stty size; tty -s && echo 'a ter''minal'")
        terminal.expect("30 120")
        terminal.expect("a terminal")
        terminal.setwinsize(41, 133)
        terminal.sendline("until [ \"$(stty size)\" = '41 133' ]; do sleep 0.05; done; echo wi''der")
        terminal.expect("wider")
        terminal.sendline("echo sle''eps; sleep 60")
        terminal.expect("sleeps")
        terminal.sendintr()
        terminal.sendline('echo "status $?"; exit 42')
        terminal.expect("status 130")
        ends_with(terminal, 42)


def test_the_detach_key_asks_and_the_job_goes_on(server: RotaServer) -> None:
    with at_terminal(server, "run", "--time", "1m", "--pty", "--", "bash", "--norc", "-i") as terminal:
        job = job_of(terminal)
        terminal.sendline("echo be''gun")
        terminal.expect("begun")
        terminal.send("\x1d")
        terminal.expect("detach")
        terminal.sendline("d")
        terminal.expect(f"rota logs -f {job}")
        ends_with(terminal, 0)
    assert server.client.job(job).job.phase is Phase.RUNNING
    server.client.cancel(job)


@pytest.mark.parametrize("how", ["exit", "cancel", "kill"])
def test_the_terminal_is_as_it_was_afterwards(server: RotaServer, how: str) -> None:
    with at_terminal(server, "run", "--time", "1m", "--pty", "--", "bash", "--norc", "-i") as terminal:
        before = termios.tcgetattr(terminal.child_fd)
        job = job_of(terminal)
        terminal.sendline("echo be''gun")
        terminal.expect("begun")
        assert termios.tcgetattr(terminal.child_fd) != before
        match how:
            case "exit":
                terminal.sendline("exit")
            case "cancel":
                server.client.cancel(job)
            case "kill":
                terminal.kill(signal.SIGTERM)
        terminal.expect(pexpect.EOF)
        terminal.wait()
        after = termios.tcgetattr(terminal.child_fd)
        assert after[:6] == before[:6]


def test_a_terminal_is_needed_for_one(server: RotaServer) -> None:
    done = rota(server, "run", "--pty", "--", "bash", input=b"")
    assert done.returncode == 1
    assert b"needs a terminal here" in done.stderr
