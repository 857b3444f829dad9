"""Messages survive being cut anywhere; nonsense is refused."""

import struct

import pytest

from rota.backends.backend import TaskRef
from rota.backends.process.frames import (
    LARGEST_BYTES,
    BadFrame,
    Describe,
    Inbox,
    Request,
    Settle,
    frame,
    read_request,
)
from rota.model.ids import JobId


def test_bodies_come_out_whole_however_they_come_in() -> None:
    messages: list[Request] = [Settle(1, [TaskRef(JobId("1"), 2, 3)]), Describe(2)]
    data = b"".join(map(frame, messages))
    for size in (1, 3, len(data)):
        inbox = Inbox()
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert [read_request(body) for piece in pieces for body in inbox.feed(piece)] == messages


def test_a_frame_that_claims_too_much_is_refused() -> None:
    with pytest.raises(BadFrame, match="the most is"):
        list(Inbox().feed(struct.pack("<I", LARGEST_BYTES + 1)))


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x81\xa4type\xa4what"])
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(BadFrame):
        read_request(body)
