"""The folder of an authority: made once, for its user alone, and who it cuts off."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509

from rota.settings.contexts import CA_FILE
from rota.stateless_scheduler.authority import (
    AUTHORITY_FILE,
    REVOKED_FILE,
    AuthorityError,
    Vouched,
    certificate_in,
    make_authority,
    read_authority,
)
from rota.trust import Identity

pytestmark = pytest.mark.covers("ops-2")

NOW_MS = 1_800_000_000_000
YEAR_MS = 365 * 24 * 3_600_000


def test_it_is_made_once_and_for_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "authority"
    assert make_authority(folder, (), NOW_MS)
    assert stat.S_IMODE((folder / AUTHORITY_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    made = read_authority(folder)
    assert not make_authority(folder, (), NOW_MS + YEAR_MS)
    assert read_authority(folder).fingerprint == made.fingerprint
    assert b"PRIVATE" not in (folder / CA_FILE).read_bytes()
    assert certificate_in(folder) is None


def test_with_hosts_it_has_a_certificate_that_is_renewed_when_asked(tmp_path: Path) -> None:
    make_authority(tmp_path, ("rota.example.org", "10.0.0.1"), NOW_MS)
    files = certificate_in(tmp_path)
    assert files is not None
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.certificate, files.key)
    before = files.certificate.read_bytes()
    names = x509.load_pem_x509_certificate(before).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert [str(name.value) for name in names.value] == ["rota.example.org", "10.0.0.1"]
    make_authority(tmp_path, ("rota.example.org",), NOW_MS)
    assert files.certificate.read_bytes() == before
    make_authority(tmp_path, ("rota.example.org",), NOW_MS + YEAR_MS)
    assert files.certificate.read_bytes() != before


@pytest.mark.parametrize(
    "content, mode, said",
    [
        (None, 0o600, "rota scheduler authority"),
        ("nonsense", 0o600, "is not an authority"),
        ("nonsense", 0o640, "chmod 600"),
    ],
)
def test_folders_that_will_not_do(tmp_path: Path, content: str | None, mode: int, said: str) -> None:
    if content is not None:
        (tmp_path / AUTHORITY_FILE).write_text(content)
        (tmp_path / AUTHORITY_FILE).chmod(mode)
    with pytest.raises(AuthorityError, match=said):
        read_authority(tmp_path)


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / AUTHORITY_FILE).write_text("of somebody else")
    (tmp_path / AUTHORITY_FILE).chmod(0o600)
    with pytest.raises(AuthorityError, match="is not an authority"):
        make_authority(tmp_path, (), NOW_MS)
    assert (tmp_path / AUTHORITY_FILE).read_text() == "of somebody else"
    (tmp_path / "file").write_text("")
    with pytest.raises(AuthorityError, match="give a folder"):
        make_authority(tmp_path / "file", (), NOW_MS)


def test_whoever_is_in_the_file_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / REVOKED_FILE
    roster, one, two = Vouched(path), Identity("one", "1"), Identity("two", "2")
    assert roster.refusal(one) == ""
    path.write_text("one\n")
    assert roster.refusal(one) == "agent one was revoked"
    assert roster.refusal(two) == ""
    path.write_text("one\ntwo\n")
    assert roster.refusal(two) == "agent two was revoked"
    # Nobody comes back since the file can't be read.
    path.write_bytes(b"\xff\xfe one two three")
    assert roster.refusal(two) == "agent two was revoked"
    path.unlink()
    assert roster.refusal(one) == ""
