"""How agents on the server's own machine prove who they are: by a socket that one user alone can reach.

The socket lies in a folder that belongs to the server's user and that nobody else may enter, so the kernel
lets no other user connect to it (but root, who may do everything anyway). Both sides check the folder, and
use it by the descriptor that they checked: whoever renames it meanwhile gains nothing.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from rota.trust.errors import TrustError

SOCKET_FILE = "agents.sock"
_SCHEME = "unix"
_OTHERS = 0o077
_JOIN = "or let the agent join with `rota agent token` and `rota agent join`"


def is_local(address: str) -> bool:
    """Whether it is `unix`, or `unix:PATH`."""
    return address.partition(":")[0] == _SCHEME


def socket_path(address: str, data: str) -> Path:
    """`unix` alone is the socket in the server's data folder."""
    path = address.partition(":")[2]
    return Path(path) if path else Path(data, SOCKET_FILE)


def local_address(path: Path) -> str:
    return f"{_SCHEME}:{path}"


class LocalSocket:
    """Its folder, open. Raises TrustError where others could get at it."""

    def __init__(self, path: Path, *, serves: bool = False) -> None:
        """`serves`: makes the folder, and is the only one who serves there."""
        self.path = path
        folder = path.parent
        try:
            if serves:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            remedy = "give another path" if serves else f"start the server with --agents {_SCHEME}:{path}"
            raise TrustError(str(folder), f"{error.strerror}", remedy) from None
        try:
            self._check()
            if serves:
                self._be_alone()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def target(self) -> str:
        """What gRPC listens at, or dials: short enough for a socket, however long the path is."""
        return f"{_SCHEME}:/proc/self/fd/{self._folder}/{self.path.name}"

    @property
    def is_current(self) -> bool:
        """Whether the folder is still the one at its path: it may have been removed, and made anew."""
        with suppress(OSError):
            return os.path.samestat(os.stat(self.path.parent), os.fstat(self._folder))
        return False

    def close(self) -> None:
        os.close(self._folder)

    def _check(self) -> None:
        found = os.fstat(self._folder)
        if found.st_uid != os.geteuid():
            raise TrustError(
                str(self.path.parent),
                f"belongs to user {found.st_uid}, and this process runs as user {os.geteuid()}",
                f"run the server and its agents as the same user, {_JOIN}",
            )
        if found.st_mode & _OTHERS:
            raise TrustError(
                str(self.path.parent),
                "other users may enter it, and could pass for agents or for the server",
                f"chmod 700 it, or give a path in another folder, {_JOIN}",
            )

    def _be_alone(self) -> None:
        """A second server would take the socket's place without a word."""
        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise TrustError(
                str(self.path), "another server takes agents there", "stop it, or give another path"
            ) from None
