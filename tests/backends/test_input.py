"""What a task reads while it runs: byte for byte, once, and to its end."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from rota.backends.backend import Backend, Fed, InputPiece, TaskRef
from rota.lifecycle.state import EndReason
from rota.model.run import Run, Stdin
from tests.backends.places import PLACES, Place, opened
from tests.backends.starts import shell
from tests.backends.witness import ref

PIPE = Run(stdin=Stdin.PIPE)
TERMINAL = Run(stdin=Stdin.TERMINAL, window=(30, 100))
ODD = bytes(range(256)) * 5000
"""More than a pipe holds, and than waits in the keeper at once."""


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Pods read no input: see tests/real/kube_node/test_pods.py."""
    place = PLACES[request.param](tmp_path)
    yield place
    asyncio.run(place.clear())


async def send(backend: Backend, task: TaskRef, data: bytes, *, at: int = 0, ends: bool = True) -> Fed:
    """All of it, as somebody does who hears what was taken."""
    fed = Fed(at)
    while True:
        piece = data[fed.taken_bytes - at :][: 1 << 20]
        last = fed.taken_bytes - at + len(piece) == len(data)
        fed = await backend.feed(task, InputPiece(fed.taken_bytes, piece, ends and last))
        if not fed.is_open or fed.taken_bytes - at == len(data):
            return fed


@pytest.mark.covers("first-1")
async def test_reads_what_it_is_sent_byte_for_byte(place: Place) -> None:
    async with opened(place) as witness:
        await witness.backend.start([shell(place, "1", "sha256sum; wc -c </dev/null", run=PIPE)])
        await witness.started(ref("1"))
        fed = await send(witness.backend, ref("1"), ODD)
        assert (fed.taken_bytes, fed.is_open) == (len(ODD), False)
        assert (await witness.end_of(ref("1"))).end.exit_code == 0
        assert (await witness.output_text("1")).split()[0] == hashlib.sha256(ODD).hexdigest()


async def test_one_that_has_no_input_reads_nothing(place: Place) -> None:
    async with opened(place) as witness:
        await witness.backend.start([shell(place, "1", "cat; echo end; sleep 60")])
        await witness.says("1", "end\n")
        assert await witness.backend.feed(ref("1"), InputPiece(0, b"x")) == Fed(0, is_open=False)
        await witness.backend.stop([ref("1")])


async def test_a_piece_that_comes_again_is_read_once(place: Place) -> None:
    async with opened(place) as witness:
        await witness.backend.start([shell(place, "1", "cat", run=PIPE)])
        await witness.started(ref("1"))
        assert await witness.backend.feed(ref("1"), InputPiece(0, b"abc")) == Fed(3)
        assert await witness.backend.feed(ref("1"), InputPiece(0, b"abc")) == Fed(3)
        assert await witness.backend.feed(ref("1"), InputPiece(2, b"cd")) == Fed(4)
        assert await witness.backend.feed(ref("1"), InputPiece(9, b"no")) == Fed(4)
        assert await witness.backend.feed(ref("1"), InputPiece(4, b"e\n", ends=True)) == Fed(6, is_open=False)
        await witness.end_of(ref("1"))
        assert await witness.output_text("1") == "abcde\n"


async def test_who_does_not_read_holds_up_who_sends(place: Place) -> None:
    async with opened(place) as witness:
        await witness.backend.start([shell(place, "1", "sleep 60", run=PIPE)])
        await witness.started(ref("1"))
        sending = asyncio.create_task(send(witness.backend, ref("1"), bytes(4 << 20)))
        done, _ = await asyncio.wait([sending], timeout=1)
        assert not done
        await witness.backend.stop([ref("1")])
        assert not (await sending).is_open
        assert (await witness.end_of(ref("1"))).end.reason is EndReason.STOPPED


async def test_who_sends_is_told_when_nobody_reads_any_more(place: Place) -> None:
    async with opened(place) as witness:
        await witness.backend.start([shell(place, "1", "exec </dev/null; echo up; sleep 60", run=PIPE)])
        await witness.says("1", "up\n")
        assert not (await send(witness.backend, ref("1"), bytes(4 << 20))).is_open
        await witness.backend.stop([ref("1")])


async def test_goes_on_when_its_server_is_started_anew(place: Place) -> None:
    async with opened(place) as witness:
        await witness.backend.start([shell(place, "1", "cat", run=PIPE)])
        await witness.started(ref("1"))
        assert await witness.backend.feed(ref("1"), InputPiece(0, b"before, ")) == Fed(8)
    async with opened(place, ref("1")) as witness:
        await send(witness.backend, ref("1"), b"and after\n", at=8)
        assert (await witness.end_of(ref("1"))).end.exit_code == 0
        assert await witness.output_text("1") == "before, and after\n"


@pytest.mark.covers("first-1")
async def test_a_terminal_with_its_size(place: Place) -> None:
    script = "test -t 0 && test -t 1 && test -t 2 && stty size; read x; stty size; exit 3"
    async with opened(place) as witness:
        await witness.backend.start([shell(place, "1", script, run=TERMINAL)])
        await witness.says("1", "30 100\r\n")
        await witness.backend.feed(ref("1"), InputPiece(0, window=(40, 120)))
        await witness.backend.feed(ref("1"), InputPiece(0, b"\n"))
        assert (await witness.end_of(ref("1"))).end.exit_code == 3
        assert "40 120\r\n" in await witness.output_text("1")


@pytest.mark.covers("first-1")
async def test_ctrl_c_at_a_terminal_interrupts_what_runs_in_its_foreground(place: Place) -> None:
    async with opened(place) as witness:
        command = ("/bin/bash", "--norc", "--noprofile", "-i")
        start = shell(place, "1", "", run=TERMINAL)
        await witness.backend.start([replace(start, run=replace(start.run, command=command))])
        await witness.started(ref("1"))
        typed = await send(witness.backend, ref("1"), b"echo be''gun; sleep 60\n", ends=False)
        await witness.says("1", "begun\r\n")
        typed = await send(witness.backend, ref("1"), b"\x03", at=typed.taken_bytes, ends=False)
        await send(witness.backend, ref("1"), b"exit $((40 + 2))\n", at=typed.taken_bytes, ends=False)
        assert (await witness.end_of(ref("1"))).end.exit_code == 42
