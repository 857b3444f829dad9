"""Lines of a stream that comes in chunks, however long the lines and wherever the chunks end."""

from __future__ import annotations


class LineSplitter:
    """Each byte is looked at once and copied at most twice, also in a line of many chunks."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are complete with this chunk, without their ends and without empty ones."""
        *complete, rest = chunk.split(b"\n")
        if complete and self._begun:
            complete[0] = b"".join((*self._begun, complete[0]))
            self._begun.clear()
        if rest:
            self._begun.append(rest)
        return [line for line in complete if line]
