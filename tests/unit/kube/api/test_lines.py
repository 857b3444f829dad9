"""Lines, wherever chunks end."""

from hypothesis import given
from hypothesis import strategies as st

from rota.kube.api.lines import LineSplitter


@given(
    st.lists(st.binary(min_size=1).map(lambda line: line.replace(b"\n", b" "))),
    st.lists(st.integers(1, 50), min_size=1),
)
def test_chunks_dont_matter(lines: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter()
    found: list[bytes] = []
    at = number = 0
    while at < len(stream):
        size = sizes[number % len(sizes)]
        found += splitter.feed(stream[at : at + size])
        at, number = at + size, number + 1
    assert found == lines


def test_a_line_that_was_torn_off_is_none() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b'{"a": 1}\n{"b"') == [b'{"a": 1}']


def test_a_line_of_many_chunks() -> None:
    splitter = LineSplitter()
    piece = b"x" * 65536
    for _ in range(200):
        assert splitter.feed(piece) == []
    assert splitter.feed(b"end\nnext\n") == [piece * 200 + b"end", b"next"]


def test_empty_lines_say_nothing() -> None:
    assert LineSplitter().feed(b"\n\na\n\n") == [b"a"]
