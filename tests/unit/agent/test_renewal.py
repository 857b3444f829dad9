"""An agent asks for its next certificate in time, and goes on asking."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from rota.agent import renewal
from rota.trust import Authority
from rota.trust.authority import AGENT_LASTS_MS
from rota.trust.folder import AgentIdentity, write_identity
from rota.trust.keys import key_pem, new_key

pytestmark = pytest.mark.covers("ops-2")


def joined(folder: Path, age_ms: int) -> None:
    at_ms = time.time_ns() // 1_000_000 - age_ms
    authority, key = Authority.create(at_ms), new_key()
    certificate = authority.certify_agent("m1", key.public_key(), at_ms)
    pem = certificate.public_bytes(Encoding.PEM).decode()
    write_identity(folder, AgentIdentity("m1", "", "", key_pem(key).decode(), pem, authority.pem.decode()))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, str]]:
    """Folders for which a certificate was asked for, and where. The first time, the server isn't there."""
    found: list[tuple[Path, str]] = []

    def renew(folder: Path, server: str) -> None:
        found.append((folder, server))
        if len(found) == 1:
            raise ConnectionRefusedError

    monkeypatch.setattr(renewal, "renew", renew)
    return found


def test_one_that_is_due_is_asked_for_until_it_is_there(
    tmp_path: Path, asked: list[tuple[Path, str]]
) -> None:
    joined(tmp_path, AGENT_LASTS_MS * 2 // 3 + 1000)
    attended = iter(["", "https://the-one-that-leads"])
    asyncio.run(asyncio.wait_for(renewal.renewed(tmp_path, lambda: next(attended), look_s=0.01), 20))
    assert asked == [(tmp_path, ""), (tmp_path, "https://the-one-that-leads")]


@pytest.mark.parametrize("has_joined", [True, False])
@pytest.mark.slow
def test_a_certificate_that_is_not_due_is_not_renewed(
    tmp_path: Path, asked: list[tuple[Path, str]], has_joined: bool
) -> None:
    if has_joined:
        joined(tmp_path, 0)
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(renewal.renewed(tmp_path, str, look_s=0.01), 0.2))
    assert asked == []
