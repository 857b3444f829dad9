"""The folder of an authority for the agents of a scheduler, which has no database to keep one in.

    authority.pem    its key and certificate: whoever has it can admit agents
    ca.pem           its certificate alone, for controllers and the command line to trust
    self-signed.*    certificate and key for controllers and REST, if it was made for hosts
    revoked          names that are cut off, one a line; people write it

Made by `rota scheduler authority`. A scheduler reads it, and writes nothing there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import structlog

from rota.backends.roster import Roster
from rota.server.http.tls import Certificate, self_signed
from rota.settings.contexts import CA_FILE
from rota.trust import Authority, Identity
from rota.trust.private_file import write_private

log = structlog.get_logger()

AUTHORITY_FILE = "authority.pem"
REVOKED_FILE = "revoked"


class AuthorityError(Exception):
    """What is wrong with the folder, and what to do."""


def make_authority(folder: Path, hosts: Sequence[str], now_ms: int) -> bool:
    """Whether it is new: one that is there stays, and its certificate for the hosts is renewed if need be."""
    path = folder / AUTHORITY_FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not path.exists()
        if is_new:
            write_private(path, Authority.create(now_ms).written())
        authority = read_authority(folder)
        if hosts:
            self_signed(folder, hosts, authority, now_ms)
        else:
            write_private(folder / CA_FILE, authority.pem)
    except OSError as error:
        raise AuthorityError(
            f"{error.filename or folder} can't be written: {error.strerror}; give a folder that is yours"
        ) from None
    return is_new


def read_authority(folder: Path) -> Authority:
    path = folder / AUTHORITY_FILE
    try:
        if path.stat().st_mode & 0o077:
            raise AuthorityError(f"{path}: others can read it; make it yours alone: chmod 600 {path}")
        return Authority.read(path.read_bytes())
    except FileNotFoundError:
        raise AuthorityError(
            f"{path}: there is none; make one with `rota scheduler authority {folder}`"
        ) from None
    except OSError as error:
        raise AuthorityError(f"{path} can't be read: {error.strerror}; give it to this user") from None
    except ValueError as error:
        raise AuthorityError(
            f"{path} is not an authority: {error}; restore it, or make another and let all agents join again"
        ) from None


def certificate_in(folder: Path) -> Certificate | None:
    """For controllers and REST, if the authority was made with one."""
    files = Certificate(folder / "self-signed.crt", folder / "self-signed.key")
    return files if files.certificate.exists() else None


class Vouched(Roster):
    """Whoever the authority vouches for may attend, but for those whose name is in the file."""

    def __init__(self, revoked: Path | None = None) -> None:
        super().__init__()
        self._path = revoked
        self._read_at: tuple[int, int] | None = None
        self._revoked: frozenset[str] = frozenset()

    def refusal(self, identity: Identity) -> str:
        self._look()
        return f"agent {identity.name} was revoked" if identity.name in self._revoked else ""

    def _look(self) -> None:
        """It is asked at every heartbeat: the file is read when it has changed."""
        if self._path is None:
            return
        try:
            found = self._path.stat()
            if (found.st_mtime_ns, found.st_size) == self._read_at:
                return
            names = self._path.read_text().split()
            self._read_at = found.st_mtime_ns, found.st_size
        except FileNotFoundError:
            names, self._read_at = [], None
        except (OSError, UnicodeDecodeError) as error:
            # Who was cut off before stays so.
            log.warning("agent.revocations_unreadable", file=str(self._path), why=str(error))
            return
        self._revoked = frozenset(names)
