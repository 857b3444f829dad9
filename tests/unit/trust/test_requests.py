"""Requests for certificates, and calls that are signed."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import assume, given
from hypothesis import strategies as st

from rota.trust import Authority, TrustError
from rota.trust.keys import new_key
from rota.trust.requests import authorization, caller_of, new_request, read_request

pytestmark = pytest.mark.covers("ops-2")

NOW_MS = 1_800_000_000_000
AUTHORITY = Authority.create(NOW_MS)
KEY = new_key()
CERTIFICATE = AUTHORITY.certify_agent("gpu-1", KEY.public_key(), NOW_MS)
HEADER = authorization(KEY, CERTIFICATE, "POST", "/v1/x", b"body")


def test_a_request_tells_the_key() -> None:
    assert read_request(new_request(KEY, "gpu-1").decode()).key == KEY.public_key()


def pem_of(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def with_wrong_signature() -> str:
    request = x509.load_pem_x509_csr(new_request(KEY, "gpu-1"))
    der = bytearray(request.public_bytes(Encoding.DER))
    der[-1] ^= 1
    return x509.load_der_x509_csr(bytes(der)).public_bytes(Encoding.PEM).decode()


@pytest.mark.parametrize(
    "request_pem",
    [
        "",
        "nonsense",
        "\ud83d",
        pem_of(ec.generate_private_key(ec.SECP384R1())),
        pem_of(rsa.generate_private_key(65537, 2048)),
        with_wrong_signature(),
    ],
    ids=["empty", "text", "surrogate", "P-384", "RSA", "signature"],
)
def test_other_requests_are_refused(request_pem: str) -> None:
    with pytest.raises(TrustError, match=r"^request: "):
        read_request(request_pem)


def test_a_signed_call_tells_who_calls() -> None:
    assert caller_of(AUTHORITY, HEADER, "POST", "/v1/x", b"body", NOW_MS).name == "gpu-1"


@pytest.mark.parametrize(
    "method, path, body", [("PUT", "/v1/x", b"body"), ("POST", "/v1/y", b"body"), ("POST", "/v1/x", b"")]
)
def test_a_signature_is_of_one_call(method: str, path: str, body: bytes) -> None:
    with pytest.raises(TrustError, match="the signature is wrong"):
        caller_of(AUTHORITY, HEADER, method, path, body, NOW_MS)


def test_a_certificate_is_of_no_use_without_its_key() -> None:
    forged = authorization(new_key(), CERTIFICATE, "POST", "/v1/x", b"body")
    with pytest.raises(TrustError, match="the signature is wrong"):
        caller_of(AUTHORITY, forged, "POST", "/v1/x", b"body", NOW_MS)


def test_a_certificate_of_ones_own_is_of_no_use() -> None:
    own = Authority.create(NOW_MS).certify_agent("gpu-1", KEY.public_key(), NOW_MS)
    forged = authorization(KEY, own, "POST", "/v1/x", b"body")
    with pytest.raises(TrustError, match="isn't signed by this cluster's authority"):
        caller_of(AUTHORITY, forged, "POST", "/v1/x", b"body", NOW_MS)


@pytest.mark.parametrize("header", [None, "", "Bearer rota_x", "RotaAgent", "RotaAgent " + "x" * 9000])
def test_calls_that_nobody_signed_are_refused(header: str | None) -> None:
    with pytest.raises(TrustError, match=r"^Authorization: "):
        caller_of(AUTHORITY, header, "POST", "/v1/x", b"body", NOW_MS)


@given(st.text(max_size=100), st.integers(0, len(HEADER) - 12))
def test_any_header_is_refused_in_words(text: str, at: int) -> None:
    for header in (f"RotaAgent {text}", f"{HEADER[: 11 + at]}{text}"):
        assume(header != HEADER)
        with pytest.raises(TrustError, match="; "):
            caller_of(AUTHORITY, header, "POST", "/v1/x", b"body", NOW_MS)
