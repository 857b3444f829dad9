"""Files written below a folder, and nowhere else: paths come from a server, and links may lie in the way."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

from rota.backends.process.beneath import Leaves, opened, parent_of, parts_of


class NotSaved(Exception):
    """The text says which file, and why."""


class Folder:
    def __init__(self, path: str) -> None:
        self.path = path

    def has(self, path: str) -> bool:
        """Something is there, be it a link that leads nowhere."""
        parts = _parts(path)
        try:
            with opened(Path(self.path)) as folder, parent_of(folder, parts, make=False) as parent:
                os.lstat(parts[-1], dir_fd=parent)
        except FileNotFoundError:
            return False
        except Leaves as error:
            raise NotSaved(str(error)) from None
        return True

    def save(self, path: str, data: bytes, *, executable: bool, replace: bool) -> None:
        """Whole or not at all. A link that is replaced isn't followed."""
        parts = _parts(path)
        os.makedirs(self.path, exist_ok=True)
        name, begun = parts[-1], f".rota-{secrets.token_hex(8)}"
        try:
            with opened(Path(self.path)) as folder, parent_of(folder, parts, make=True) as parent:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                file = os.open(begun, flags, 0o777 if executable else 0o666, dir_fd=parent)
                try:
                    with os.fdopen(file, "wb") as out:
                        out.write(data)
                    if replace or not _linked(begun, name, parent):
                        os.rename(begun, name, src_dir_fd=parent, dst_dir_fd=parent)
                finally:
                    with suppress(FileNotFoundError):
                        os.unlink(begun, dir_fd=parent)
        except Leaves as error:
            raise NotSaved(str(error)) from None
        except OSError as error:
            raise NotSaved(f"{os.path.join(self.path, path)}: {error.strerror}") from None


def _linked(begun: str, name: str, folder: int) -> bool:
    """Unlike a rename, this fails where a file came in between. False: no links on this file system."""
    try:
        os.link(begun, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        return False
    return True


def _parts(path: str) -> tuple[str, ...]:
    try:
        return parts_of(path)
    except Leaves as error:
        raise NotSaved(str(error)) from None
