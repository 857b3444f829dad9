"""Waits for whatever can be read, and calls whoever asked for it."""

from __future__ import annotations

import select
from collections.abc import Callable


class Watch:
    def __init__(self) -> None:
        self._poll = select.epoll()
        self._calls: dict[int, Callable[[], None]] = {}
        self._also_writable: dict[int, Callable[[], None]] = {}

    def add(self, fd: int, call: Callable[[], None]) -> None:
        self._calls[fd] = call
        self._poll.register(fd, select.EPOLLIN)

    def remove(self, fd: int) -> None:
        if self._calls.pop(fd, None) is not None:
            self._also_writable.pop(fd, None)
            self._poll.unregister(fd)

    def holds(self, fd: int) -> bool:
        return fd in self._calls

    def until_writable(self, fd: int, call: Callable[[], None] | None) -> None:
        """None: no longer."""
        if call is None:
            if self._also_writable.pop(fd, None) is not None:
                self._poll.modify(fd, select.EPOLLIN)
        elif fd not in self._also_writable:
            self._also_writable[fd] = call
            self._poll.modify(fd, select.EPOLLIN | select.EPOLLOUT)

    def wait(self, timeout_s: float | None) -> None:
        for fd, events in self._poll.poll(timeout_s):
            if events & select.EPOLLOUT and (writable := self._also_writable.get(fd)):
                writable()
            if events & ~select.EPOLLOUT and (readable := self._calls.get(fd)):
                readable()

    def close(self) -> None:
        self._poll.close()
