"""Work that takes long is done by children of the keeper, and whatever is to follow when they end."""

from __future__ import annotations

from collections.abc import Callable

from rota.backends.process.keeper.processes.kernel import Aside, Kernel
from rota.backends.process.keeper.processes.trees import Trees


class SideWork:
    def __init__(self, kernel: Kernel, trees: Trees) -> None:
        self._kernel = kernel
        self._trees = trees
        self._asides: dict[int, tuple[Aside, Callable[[Aside], None]]] = {}

    @property
    def is_going_on(self) -> bool:
        return bool(self._asides)

    def begin(self, work: Callable[[], str | None], then: Callable[[Aside], None]) -> Aside:
        """`then` is called once the work is done."""
        aside = self._kernel.aside(work)
        self._trees.own.add(aside.pid)
        self._asides[aside.pid] = aside, then
        return aside

    def ended(self, pid: int, status: int) -> None:
        """A child was reaped; nothing happens if it did no such work."""
        if pid in self._asides:
            aside, then = self._asides.pop(pid)
            aside.ended(status)
            then(aside)
