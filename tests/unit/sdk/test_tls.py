"""A server with a certificate of its own: trusted by those who are given it, and by nobody else."""

import asyncio
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from rota.sdk.async_client import AsyncClient
from rota.sdk.client import Client
from rota.sdk.errors import Untrusted
from tests.unit.sdk.stand_in import TOKEN, StandIn

pytestmark = pytest.mark.covers("ops-2")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """With its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rota")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    file = tmp_path / "certificate.pem"
    file.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return file


@pytest.fixture
def secure(certificate: Path) -> Iterator[StandIn]:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    with StandIn(tls=tls) as server:
        yield server


def test_with_its_certificate(secure: StandIn, certificate: Path) -> None:
    with Client(secure.url, TOKEN, ca=str(certificate)) as client:
        assert client.me().user == "ada"

    async def ask() -> str:
        async with AsyncClient(secure.url, TOKEN, ca=str(certificate)) as other:
            return (await other.me()).user

    assert asyncio.run(ask()) == "ada"


def test_without_its_certificate(secure: StandIn) -> None:
    with Client(secure.url, TOKEN) as client, pytest.raises(Untrusted, match=r"isn't trusted.*ROTA_CA"):
        client.me()

    async def ask() -> None:
        async with AsyncClient(secure.url, TOKEN) as other:
            await other.me()

    with pytest.raises(Untrusted, match=r"isn't trusted.*ROTA_CA"):
        asyncio.run(ask())
    assert secure.requests == []
