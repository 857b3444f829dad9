"""What the authority signs, and what it believes."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from rota.trust import SERVER_NAME, Authority, Identity, TrustError, identity_of, server_credentials
from rota.trust.authority import AGENT_LASTS_MS, check_agent_name, serial_of
from rota.trust.keys import new_key, read_key
from rota.trust.times import DAY_MS, ms_of

pytestmark = pytest.mark.covers("ops-2")

NOW_MS = 1_800_000_000_000


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.create(NOW_MS)


def certificate_of(authority: Authority, name: str = "gpu-1") -> x509.Certificate:
    return authority.certify_agent(name, new_key().public_key(), NOW_MS)


def test_an_agent_is_known_by_its_certificate(authority: Authority) -> None:
    certificate = certificate_of(authority)
    expected = Identity("gpu-1", serial_of(certificate))
    assert authority.identify(certificate, NOW_MS) == expected
    assert identity_of(certificate.public_bytes(Encoding.PEM)) == expected
    assert ms_of(certificate.not_valid_after_utc) == NOW_MS + AGENT_LASTS_MS


def test_an_authority_is_the_same_after_it_was_kept(authority: Authority) -> None:
    again = Authority.read(authority.written())
    assert again.fingerprint == authority.fingerprint
    assert authority.identify(certificate_of(again), NOW_MS).name == "gpu-1"
    assert b"PRIVATE" not in authority.pem


def test_certificates_of_others_are_not_believed(authority: Authority) -> None:
    with pytest.raises(TrustError, match="isn't signed by this cluster's authority"):
        authority.identify(certificate_of(Authority.create(NOW_MS)), NOW_MS)


@pytest.mark.parametrize("late_ms", [AGENT_LASTS_MS, -2 * DAY_MS])
def test_certificates_count_for_their_time(authority: Authority, late_ms: int) -> None:
    with pytest.raises(TrustError, match="has expired, or isn't valid yet"):
        authority.identify(certificate_of(authority), NOW_MS + late_ms)


def test_clocks_may_differ_by_hours(authority: Authority) -> None:
    assert authority.identify(certificate_of(authority), NOW_MS - DAY_MS // 2).name == "gpu-1"


def test_a_server_is_no_agent_and_an_agent_no_server(authority: Authority) -> None:
    key, certificate, ca = server_credentials(authority, NOW_MS)
    server = x509.load_pem_x509_certificate(certificate)
    assert read_key(key).public_key() == server.public_key()
    assert ca == authority.pem
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [SERVER_NAME]
    with pytest.raises(TrustError, match="is not an agent's"):
        authority.identify(server, NOW_MS)
    usage = certificate_of(authority).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert x509.oid.ExtendedKeyUsageOID.SERVER_AUTH not in usage


@pytest.mark.parametrize("name", ["a", "gpu-1", "node_7.example.org", "A" * 63])
def test_names_of_agents(name: str) -> None:
    assert check_agent_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", "a.", "a b", "a/b", "ä", "a\n", "a" * 64, "../x", "a\0"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(TrustError, match="--name: is not a name for an agent; give 1 to 63"):
        check_agent_name(name, "--name")


@pytest.mark.parametrize(
    "text", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"]
)
def test_what_is_no_certificate_is_refused(text: bytes) -> None:
    with pytest.raises(TrustError, match="certificate: can't be read"):
        identity_of(text)


def test_other_keys_are_refused() -> None:
    from cryptography.hazmat.primitives.serialization import NoEncryption, PrivateFormat

    other = ec.generate_private_key(ec.SECP384R1())
    with pytest.raises(ValueError, match="no key of Rota's"):
        read_key(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
