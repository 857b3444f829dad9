"""What an agent keeps: whole, for itself alone, and renewed in time."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from rota.trust import Authority, TrustError, agent_credentials
from rota.trust.authority import AGENT_LASTS_MS
from rota.trust.folder import AgentIdentity, pending_key, read_identity, write_identity
from rota.trust.keys import key_pem, new_key

pytestmark = pytest.mark.covers("ops-2")

NOW_MS = 1_800_000_000_000


def identity() -> AgentIdentity:
    authority, key = Authority.create(NOW_MS), new_key()
    certificate = authority.certify_agent("gpu-1", key.public_key(), NOW_MS)
    return AgentIdentity(
        "gpu-1",
        "https://rota.example.org:8426",
        "rota.example.org:8427",
        key_pem(key).decode(),
        certificate.public_bytes(Encoding.PEM).decode(),
        authority.pem.decode(),
    )


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_an_identity_is_for_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    key = pending_key(folder)
    assert modes(folder) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert pending_key(folder).public_key() == key.public_key()
    kept = identity()
    write_identity(folder, kept)
    assert modes(folder) == {0o600}
    assert read_identity(folder) == kept
    assert agent_credentials(folder) == (
        kept.key.encode(),
        kept.certificate.encode(),
        kept.authority.encode(),
    )
    assert pending_key(folder).public_key() != key.public_key()
    assert "PRIVATE" not in repr(kept)


def test_it_is_due_when_a_third_of_its_life_is_left() -> None:
    kept = identity()
    due_ms = NOW_MS + 2 * AGENT_LASTS_MS // 3
    assert not kept.is_due(due_ms - 1000)
    assert kept.is_due(due_ms)


def test_a_machine_that_has_not_joined_is_told_how(tmp_path: Path) -> None:
    with pytest.raises(TrustError, match="hasn't joined; join with `rota agent join`"):
        agent_credentials(tmp_path)


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff"])
def test_an_identity_that_is_damaged_is_told(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "identity.json").write_bytes(text)
    with pytest.raises(TrustError, match=r"can't be read.*join again"):
        agent_credentials(tmp_path)


def test_a_damaged_key_that_waits_for_its_certificate_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "next-key.pem").write_bytes(b"cut off")
    key = pending_key(tmp_path)
    assert pending_key(tmp_path).public_key() == key.public_key()
