from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from rota.server.http.serve import AddressError, check_address
from rota.server.http.tls import Certificate, CertificateError, check_certificate, self_signed
from rota.trust import Authority
from rota.trust.times import DAY_MS

NOW_MS = 1_800_000_000_000
AUTHORITY = Authority.create(NOW_MS)


def test_a_certificate_is_made_once_and_kept_for_the_user_alone(tmp_path: Path) -> None:
    made = self_signed(tmp_path / "tls", ["localhost", "127.0.0.1"], AUTHORITY, NOW_MS)
    check_certificate(made)
    assert [oct(path.stat().st_mode & 0o777) for path in (made.certificate, made.key)] == ["0o600", "0o600"]
    before = made.certificate.read_bytes()
    assert self_signed(tmp_path / "tls", ["localhost"], AUTHORITY, NOW_MS + 300 * DAY_MS) == made
    assert made.certificate.read_bytes() == before


@pytest.mark.parametrize(
    "hosts, later_ms", [(["localhost"], 340 * DAY_MS), (["localhost", "rota.example"], 0)]
)
def test_a_new_one_is_made_when_it_expires_or_hosts_are_added(
    tmp_path: Path, hosts: list[str], later_ms: int
) -> None:
    made = self_signed(tmp_path, ["localhost"], AUTHORITY, NOW_MS)
    before = made.certificate.read_bytes()
    self_signed(tmp_path, hosts, AUTHORITY, NOW_MS + later_ms)
    assert made.certificate.read_bytes() != before


def test_a_damaged_one_is_replaced(tmp_path: Path) -> None:
    made = self_signed(tmp_path, ["::1"], AUTHORITY, NOW_MS)
    made.key.write_text("nonsense")
    check_certificate(self_signed(tmp_path, ["::1"], AUTHORITY, NOW_MS))


def test_clients_can_trust_it(tmp_path: Path) -> None:
    made = self_signed(tmp_path, ["localhost"], AUTHORITY, NOW_MS)
    ca = made.certificate.parent / "ca.pem"
    assert ca.read_bytes() == AUTHORITY.pem
    assert len(ssl.create_default_context(cafile=str(ca)).get_ca_certs()) == 1


def test_another_authority_makes_another(tmp_path: Path) -> None:
    made = self_signed(tmp_path, ["localhost"], AUTHORITY, NOW_MS)
    before = made.certificate.read_bytes()
    self_signed(tmp_path, ["localhost"], Authority.create(NOW_MS), NOW_MS)
    assert made.certificate.read_bytes() != before


def test_files_that_are_no_certificate_are_named(tmp_path: Path) -> None:
    made = self_signed(tmp_path, ["localhost"], AUTHORITY, NOW_MS)
    other = self_signed(tmp_path / "other", ["localhost"], AUTHORITY, NOW_MS)
    with pytest.raises(CertificateError, match="no such file"):
        check_certificate(Certificate(tmp_path / "missing", made.key))
    with pytest.raises(CertificateError, match=r"self-signed\.crt"):
        check_certificate(Certificate(made.certificate, other.key))


@pytest.mark.covers("ops-2")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "rota.example", ""])
def test_beyond_this_machine_only_with_tls(tmp_path: Path, host: str) -> None:
    with pytest.raises(AddressError, match="--tls-self-signed"):
        check_address(host, None)
    check_address(host, self_signed(tmp_path, ["localhost"], AUTHORITY, NOW_MS))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_an_address_of_this_machine_needs_no_certificate(host: str) -> None:
    check_address(host, None)
