"""What an agent keeps of who it is: one file, for its user alone, replaced as a whole or not at all."""

from __future__ import annotations

import ssl
from pathlib import Path

from cryptography import x509
from msgspec import MsgspecError, Struct, json

from rota.trust.authority import AGENT_LASTS_MS
from rota.trust.credentials import Credentials
from rota.trust.errors import TrustError
from rota.trust.keys import PrivateKey, key_pem, new_key, read_key
from rota.trust.private_file import write_private
from rota.trust.times import ms_of

IDENTITY_FILE = "identity.json"
_PENDING_FILE = "next-key.pem"
"""A key that a certificate was asked for: if the answer is lost, the same is asked for again."""


class AgentIdentity(Struct, frozen=True):
    name: str
    server: str
    """Of the REST interface: where results go, and where a new certificate comes from."""
    agents_address: str
    """HOST:PORT of gRPC, where the agent attends."""
    key: str
    certificate: str
    authority: str

    def __repr__(self) -> str:
        """Without the key, which must not reach a log."""
        return f"AgentIdentity({self.name} at {self.server})"

    @property
    def expires_ms(self) -> int:
        return ms_of(self.parsed().not_valid_after_utc)

    def parsed(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.certificate.encode())

    def private_key(self) -> PrivateKey:
        return read_key(self.key.encode())

    def is_due(self, now_ms: int) -> bool:
        """Whether a third of its life is left, or less."""
        return self.expires_ms - now_ms <= AGENT_LASTS_MS // 3


def has_joined(folder: Path) -> bool:
    return (folder / IDENTITY_FILE).exists()


def read_identity(folder: Path) -> AgentIdentity:
    path = folder / IDENTITY_FILE
    try:
        identity = json.decode(path.read_bytes(), type=AgentIdentity)
        identity.parsed()
        identity.private_key()
    except FileNotFoundError:
        raise TrustError(str(path), "this machine hasn't joined", "join with `rota agent join`") from None
    except (OSError, MsgspecError, ValueError, RecursionError) as error:
        raise TrustError(str(path), f"can't be read: {error}", "join again with a new token") from None
    return identity


def write_identity(folder: Path, identity: AgentIdentity) -> None:
    write_private(folder / IDENTITY_FILE, json.encode(identity))
    (folder / _PENDING_FILE).unlink(missing_ok=True)


def pending_key(folder: Path) -> PrivateKey:
    """One that was made before and got no answer yet, or a new one. It never leaves this folder."""
    path = folder / _PENDING_FILE
    try:
        return read_key(path.read_bytes())
    except FileNotFoundError:
        pass
    except ValueError:
        path.unlink()
    key = new_key()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, key_pem(key))
    return key


def agent_credentials(folder: Path) -> Credentials:
    """Read anew for each connection, so that a renewed certificate is used. Raises TrustError."""
    identity = read_identity(folder)
    return Credentials(identity.key.encode(), identity.certificate.encode(), identity.authority.encode())


def server_trust(folder: Path) -> ssl.SSLContext:
    """For calls of the REST interface: servers whose certificates the authority made, or whom this machine
    trusts anyway. Raises TrustError."""
    context = ssl.create_default_context()
    context.load_verify_locations(cadata=read_identity(folder).authority)
    return context
