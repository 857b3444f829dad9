"""Secrets at rest: sealed with a key that lies in a file of its own, never in the database.

A copy of the database alone shows no secret. The file holds one key a line; the first seals, all of them
open, so that a new key can be put before the old ones while old secrets are still there.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from rota.trust.private_file import write_private

_KEY_BYTES = 32
_KEY_ID_BYTES = 8
_NONCE_BYTES = 12


class CannotUnseal(Exception):
    """The text says why, and holds nothing of the secret."""


class BadKeyFile(Exception):
    """The text names the file and says what to do."""


class Sealer:
    def __init__(self, keys: Sequence[bytes]) -> None:
        """The first seals."""
        self._keys = {sha256(key).digest()[:_KEY_ID_BYTES]: AESGCM(key) for key in keys}

    def seal(self, plain: bytes, about: str) -> bytes:
        """Opens only for the same `about`: a sealed secret can't be passed off as another."""
        key_id, cipher = next(iter(self._keys.items()))
        nonce = os.urandom(_NONCE_BYTES)
        return key_id + nonce + cipher.encrypt(nonce, plain, about.encode())

    def unseal(self, sealed: bytes, about: str) -> bytes:
        key_id, rest = sealed[:_KEY_ID_BYTES], sealed[_KEY_ID_BYTES:]
        cipher = self._keys.get(key_id)
        if cipher is None:
            raise CannotUnseal("the key that it was sealed with isn't in the server's key file")
        try:
            return cipher.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], about.encode())
        except InvalidTag:
            raise CannotUnseal("it is damaged") from None


def sealer_of(path: Path) -> Sealer:
    """With the keys of the file, which is made if it isn't there. Raises BadKeyFile or OSError."""
    if not path.exists():
        write_private(path, base64.b64encode(os.urandom(_KEY_BYTES)) + b"\n")
    keys = [_key(line, path) for line in path.read_text().splitlines() if line.strip()]
    if not keys:
        raise BadKeyFile(f"{path} holds no key: bring the file back, or remove it to begin with a new key")
    return Sealer(keys)


def _key(line: str, path: Path) -> bytes:
    try:
        key = base64.b64decode(line.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise BadKeyFile(
            f"{path}: a line isn't a key; write {_KEY_BYTES} random bytes in base64 on each line"
        )
    return key


def temporary_sealer() -> Sealer:
    """With a key that nobody keeps: for clusters that end with their process."""
    return Sealer([os.urandom(_KEY_BYTES)])
