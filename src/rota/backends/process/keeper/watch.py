"""Waits for whatever can be read, and calls whoever asked for it."""

from __future__ import annotations

import select
from collections.abc import Callable


class Watch:
    def __init__(self) -> None:
        self._poll = select.epoll()
        self._calls: dict[int, Callable[[], None]] = {}
        self._also_writable: dict[int, Callable[[], None]] = {}
        self._read: set[int] = set()

    def add(self, fd: int, call: Callable[[], None]) -> None:
        self._calls[fd] = call
        self._read.add(fd)
        self._poll.register(fd, select.EPOLLIN)

    def add_writing(self, fd: int, broken: Callable[[], None]) -> None:
        """One that is never read from. `broken`: nobody is at its other end any more."""
        self._calls[fd] = broken
        self._poll.register(fd, 0)

    def remove(self, fd: int) -> None:
        if self._calls.pop(fd, None) is not None:
            self._also_writable.pop(fd, None)
            self._read.discard(fd)
            self._poll.unregister(fd)

    def holds(self, fd: int) -> bool:
        return fd in self._calls

    def until_writable(self, fd: int, call: Callable[[], None] | None) -> None:
        """None: no longer."""
        if call is None:
            if self._also_writable.pop(fd, None) is not None:
                self._poll.modify(fd, self._wanted(fd))
        elif fd not in self._also_writable:
            self._also_writable[fd] = call
            self._poll.modify(fd, self._wanted(fd) | select.EPOLLOUT)

    def _wanted(self, fd: int) -> int:
        return select.EPOLLIN if fd in self._read else 0

    def wait(self, timeout_s: float | None) -> None:
        for fd, events in self._poll.poll(timeout_s):
            if events & select.EPOLLOUT and (writable := self._also_writable.get(fd)):
                writable()
            if events & ~select.EPOLLOUT and (readable := self._calls.get(fd)):
                readable()

    def close(self) -> None:
        self._poll.close()
