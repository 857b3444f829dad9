"""Secrets don't get into a task's log, however its output is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.backends.backend import Stream
from rota.backends.process.keeper.streams.masking import MASK, Mask, Withheld, patterns_of

pytestmark = pytest.mark.covers("trust-3")


def masked(values: list[str], *pieces: bytes) -> bytes:
    mask = Mask(values)
    return b"".join([*(mask.feed(Stream.OUT, piece) for piece in pieces), mask.rest(Stream.OUT)])


@pytest.mark.parametrize(
    "values, pieces, written",
    [
        (["s3cret"], [b"the key is s3cret."], b"the key is ***."),
        (["s3cret"], [b"the key is s3c", b"ret."], b"the key is ***."),
        (["s3cret"], [b"s3c", b"s3cret", b"s3"], b"s3c***s3"),
        (["line-one\nline-two\n"], [b"line-two line-one"], b"*** ***"),
        (["abcd", "abcdef"], [b"abcd", b"ef!"], b"***!"),
        (["xabc", "abcz"], [b"xabc", b"z"], b"***z"),
        (["abc"], [b"abc is too short to be a secret"], b"abc is too short to be a secret"),
        (["aaaa"], [b"aaaaa", b"aaa"], b"***aaa"),
        (["abcd", "cdef"], [b"abcdef"], b"***"),
        ([], [b"nothing ", b"to hide"], b"nothing to hide"),
    ],
)
def test_secrets_are_masked_wherever_pieces_part_them(
    values: list[str], pieces: list[bytes], written: bytes
) -> None:
    assert masked(values, *pieces) == written


def test_streams_are_apart() -> None:
    mask = Mask(["s3cret"])
    assert mask.feed(Stream.OUT, b"s3c") == b""
    assert mask.feed(Stream.ERR, b"ret") == b"ret"
    assert (mask.rest(Stream.OUT), mask.rest(Stream.ERR)) == (b"s3c", b"")


@pytest.mark.parametrize("period", [1, 7, 90])
def test_long_lines_are_hidden_to_the_last_byte(period: int) -> None:
    secret = "".join(chr(ord("!") + at % period) for at in range(1000))
    assert max(map(len, patterns_of([secret]))) == 128
    assert set(masked([secret], secret.encode())) <= set(b"*")
    assert masked([secret], b"<", secret.encode()[:500], secret.encode()[500:], b">").strip(b"*<>") == b""


@pytest.mark.slow
def test_a_read_full_of_secrets_is_no_hard_work() -> None:
    """The keeper has one thread: what one task writes must not keep it from the others."""
    mask = Mask(["a" * length for length in range(4, 120)])
    assert mask.feed(Stream.OUT, b"a" * 65_000 + b"b") == MASK + b"b"


def test_what_cant_be_masked_is_withheld() -> None:
    mask = Withheld()
    assert b"withheld" in mask.feed(Stream.OUT, b"s3cret\n")
    assert mask.feed(Stream.ERR, b"s3cret\n") == b""
    assert mask.rest(Stream.OUT) == b""


@given(
    values=st.lists(st.text("ab-", min_size=4, max_size=9), min_size=1, max_size=3),
    output=st.lists(st.text("ab- ", max_size=12), max_size=8),
)
def test_no_cut_lets_a_secret_through(values: list[str], output: list[str]) -> None:
    pieces = [piece.encode() for piece in output]
    written = masked(values, *pieces)
    for value in values:
        # What is left of others may stand beside each other and look like one; only whole ones count.
        for part in written.split(MASK):
            assert value.strip().encode() not in part or len(value.strip()) < 4


@given(st.lists(st.binary(max_size=20), max_size=10))
def test_other_output_is_as_it_was(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    written = masked(["correct horse battery staple"], *pieces)
    assert written == whole.replace(b"correct horse battery staple", MASK)
