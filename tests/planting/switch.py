"""Plants a bug into real processes: whatever Python is started meanwhile has it from its beginning.

A folder for the bug, first in PYTHONPATH, holds a `sitecustomize.py` that every interpreter executes when it
starts. Nothing else would do: a keeper is given no other variable of its agent's environment. Tasks of the
crash tests start without `site`, and have no bugs. A `sitecustomize` that the machine has itself is hidden
from these processes, and from no others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from tests.planting.bugs import BUGS, PROCESSES, Bug

ROOT = Path(__file__).parents[2]
_REACHED = "reached"
_SITE = "from tests.planting.switch import plant_once_imported\n\nplant_once_imported({bug!r}, {folder!r})\n"


class Planted:
    def __init__(self, bug: str, folder: Path) -> None:
        self._folder = folder
        (folder / "sitecustomize.py").write_text(_SITE.format(bug=bug, folder=str(folder)))

    @property
    def environment(self) -> dict[str, str]:
        """What a process that is to have the bug is given."""
        before = os.environ.get("PYTHONPATH")
        paths = [str(self._folder), str(ROOT), *([before] if before else [])]
        return {"PYTHONPATH": os.pathsep.join(paths)}

    def reached(self) -> set[int]:
        """The processes that have had it so far."""
        path = self._folder / _REACHED
        return set(map(int, path.read_text().split())) if path.exists() else set()


@contextmanager
def planted(bug: Bug, folder: Path) -> Iterator[Planted]:
    """In all that this process starts meanwhile, and all that these start."""
    one = Planted(bug.name, folder)
    before = os.environ.get("PYTHONPATH")
    os.environ |= one.environment
    try:
        yield one
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


# -- in the process that is to have it

_in_force: list[AbstractContextManager[None]] = []
"""Until the process ends: a context that nobody holds would be left."""


def plant_once_imported(name: str, folder: str) -> None:
    bug = BUGS[name]

    def plant() -> None:
        context = bug.plant_in_process()()
        context.__enter__()
        _in_force.append(context)
        with open(f"{folder}/{_REACHED}", "a") as reached:
            reached.write(f"{os.getpid()}\n")

    sys.meta_path.insert(0, _OnceImported(PROCESSES[bug.real], plant))


class _OnceImported(MetaPathFinder):
    def __init__(self, module: str, then: Callable[[], None]) -> None:
        self._module = module
        self._then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        assert spec is not None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def execute_and_plant(module: ModuleType) -> None:
            execute(module)
            self._then()

        spec.loader.exec_module = execute_and_plant  # type: ignore[method-assign]
        return spec
