"""How a keeper is to keep tasks: said on its command line by whoever starts it."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from rota.backends.process.keeper.cgroups import MOST_PROCESSES
from rota.backends.process.keeper.log_writer import DEFAULT_ROTATION, Rotation
from rota.launch.accounts import Confinement


class KeeperOptions(Struct, frozen=True, omit_defaults=True):
    rotation: Rotation = DEFAULT_ROTATION
    idle_ms: int | None = 30_000
    """It ends when nobody was connected and nothing ran for so long; None: never."""
    start_within_ms: int = 60_000
    """From a task's process to its program; longer only where a file system doesn't answer."""
    most_processes: int = MOST_PROCESSES
    """Of one task; 0: no limit."""
    is_leased: bool = False
    """Tasks run no longer than somebody says, again and again, in the file `lease`."""

    confinement: Confinement = Confinement()

    def written(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def read(cls, text: str) -> KeeperOptions:
        """Raises msgspec.MsgspecError."""
        return msgspec.json.decode(text, type=cls)


DEFAULT_OPTIONS = KeeperOptions()
