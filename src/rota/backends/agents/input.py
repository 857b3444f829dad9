"""What a task of an agent is to read: one piece at a time, said again on each stream until it is answered."""

from __future__ import annotations

import asyncio

from rota.backends.agents.claims import Refusal
from rota.backends.backend import Fed, InputPiece
from rota.wire import agents_pb2 as wire

_CLOSED = Fed(0, is_open=False)


class TaskInput:
    """Of one start of one task, as the server has it."""

    def __init__(self) -> None:
        self.number = 0
        """Of the latest piece."""
        self._piece: InputPiece | None = None
        self._answer: asyncio.Future[Fed] | None = None
        self._is_closed = False

    def offer(self, piece: InputPiece) -> asyncio.Future[Fed]:
        """Is answered once the agent says what was taken of it. One that isn't answered yet gives way: as if
        nothing had been taken of it, which its sender finds out the next time."""
        answer: asyncio.Future[Fed] = asyncio.get_running_loop().create_future()
        if self._is_closed:
            answer.set_result(_CLOSED)
            return answer
        if self._piece is not None:
            self._reply(Fed(self._piece.offset_bytes))
        self.number += 1
        self._piece, self._answer = piece, answer
        return answer

    def unsaid(self, said: int) -> InputPiece | None:
        """What a stream that has said the pieces up to this number is to say next."""
        return self._piece if self.number > said else None

    def taken(self, message: wire.InputTaken) -> None:
        """Raises Refusal for what can't be."""
        if message.number != self.number or self._piece is None:
            return
        most_bytes = self._piece.offset_bytes + len(self._piece.data)
        if not 0 <= message.taken_bytes <= most_bytes:
            raise Refusal(f"input_taken.taken_bytes: {message.taken_bytes} can't be; it is 0 to {most_bytes}")
        self._reply(Fed(message.taken_bytes, is_open=not message.closed))

    def close(self) -> None:
        """The task has ended, or is lost."""
        self._is_closed = True
        self._reply(_CLOSED)

    def _reply(self, fed: Fed) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(fed)
        self._piece = self._answer = None
