"""How a keeper is to keep tasks, said on its command line by whoever starts it; and what it answers by its
exit status. Both sides of the socket know this."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from rota.backends.process.keeper.streams.log_writer import DEFAULT_ROTATION, Rotation
from rota.launch.accounts import Confinement

MOST_PROCESSES = 4096
"""Of one task, unless its keeper is told otherwise."""
FOREGROUND = "--foreground"
"""It goes on in the process that it was started in."""
ALREADY_KEPT = 3
"""Exit status: another keeper has this folder."""
UNFIT = 4
"""Exit status: it can't keep tasks as it is told to, and has said why."""


class KeeperOptions(Struct, frozen=True, omit_defaults=True):
    rotation: Rotation = DEFAULT_ROTATION
    idle_ms: int | None = 30_000
    """It ends when nobody was connected and nothing ran for so long; None: never."""
    start_within_ms: int = 60_000
    """From a task's process to its program; longer only where a file system doesn't answer."""
    most_processes: int = MOST_PROCESSES
    """Of one task; 0: no limit."""
    most_storage_bytes: int = 0
    """What the files of one task may take that doesn't say; 0: no limit."""
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
