"""What a provider signed counts; what others made of it doesn't."""

from __future__ import annotations

import hmac
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import convert, json

from rota.server.sign_in.id_token import LONGEST, BadIdToken, Claims, Expected, Jwk, UnknownKey, read_id_token
from tests.real.server.oidc_provider import CLIENT_ID, SigningKey, b64, claims_of

pytestmark = pytest.mark.covers("trust-6")

ISSUER = "https://id.example.org"
EXPECTED = Expected(ISSUER, CLIENT_ID, CLIENT_ID, ("RS256", "ES256"))
KEYS = [SigningKey("RS256"), SigningKey("ES256")]
RSA_KEY, EC_KEY = KEYS
NOT_TEXT = b'{"alg": "\xff"}'
DEEP = b'{"x": ' + b"[" * 5_000


def claims(**more: Any) -> dict[str, Any]:
    return claims_of(ISSUER, "ada", ["team"], **more)


def read(token: str, *keys: SigningKey, expected: Expected = EXPECTED, at_ms: int | None = None) -> Claims:
    known = [convert(key.jwk, Jwk) for key in keys or KEYS]
    return read_id_token(token, known, expected, claims()["iat"] * 1000 if at_ms is None else at_ms)


@pytest.mark.parametrize("key", KEYS, ids=["RS256", "ES256"])
def test_a_token_signed_by_the_provider_is_read(key: SigningKey) -> None:
    found = read(key.sign(claims()))
    assert (found.issuer, found.subject) == (ISSUER, "id-of-ada")
    assert found.all["preferred_username"] == "ada"


def test_a_token_that_names_no_key_is_checked_with_the_only_one() -> None:
    read(EC_KEY.sign(claims(), kid=None))
    read(EC_KEY.sign(claims(), kid=None), EC_KEY)
    with pytest.raises(UnknownKey):
        read(EC_KEY.sign(claims(), kid=None), EC_KEY, SigningKey("ES256"))


def unsigned(alg: str, signature: str = "") -> str:
    return f"{b64(json.encode({'alg': alg}))}.{b64(json.encode(claims()))}.{signature}"


def with_public_key_as_secret() -> str:
    """The classic: HS256 with what everybody knows as the shared secret."""
    pem = RSA_KEY.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    signed = unsigned("HS256").rpartition(".")[0]
    return f"{signed}.{b64(hmac.digest(pem, signed.encode(), 'sha256'))}"


def with_changed_claims() -> str:
    head, _, signature = RSA_KEY.sign(claims()).split(".")
    return f"{head}.{b64(json.encode(claims(preferred_username='admin')))}.{signature}"


@pytest.mark.parametrize(
    "token",
    [
        unsigned("none"),
        unsigned("None"),
        unsigned("RS256"),
        unsigned("ES256", b64(bytes(64))),
        with_public_key_as_secret(),
        with_changed_claims(),
        SigningKey("RS256").sign(claims()),
        SigningKey("RS256").sign(claims(), kid=RSA_KEY.kid),
        EC_KEY.sign(claims(), alg="RS256", kid=RSA_KEY.kid),
        RSA_KEY.sign(claims(), alg="ES256", kid=EC_KEY.kid),
        RSA_KEY.sign(claims(), kid=EC_KEY.kid),
        RSA_KEY.sign(claims(), crit=["exp"]),
        RSA_KEY.sign(claims(), jwk=SigningKey("RS256").jwk, kid="unknown"),
        RSA_KEY.sign(claims(), alg=None),
        RSA_KEY.sign(claims())[:-10],
        RSA_KEY.sign(claims()) + "!",
        RSA_KEY.sign(claims()).replace(".", "..", 1),
        RSA_KEY.sign(claims()).replace(".", "", 1),
        "",
        "..",
        "a.b.c",
        "é.é.é",
        RSA_KEY.sign(claims(padding="x" * LONGEST)),
        "[" * 10_000,
        b64(NOT_TEXT) + ".e30.e30",
        b64(DEEP) + ".e30.e30",
    ],
)
def test_an_unsigned_or_mangled_token_is_refused(token: str) -> None:
    with pytest.raises(BadIdToken):
        read(token)


@pytest.mark.parametrize(
    "wrong",
    [
        {"iss": "https://id.example.com"},
        {"iss": ISSUER + "/"},
        {"iss": None},
        {"aud": "another"},
        {"aud": ["another"]},
        {"aud": []},
        {"aud": None},
        {"aud": [CLIENT_ID, "another"]},
        {"aud": [CLIENT_ID, "another"], "azp": "another"},
        {"azp": "another"},
        {"exp": 1},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": True},
        {"iat": 1},
        {"iat": None},
        {"iat": 9e18},
        {"nbf": 9e18},
        {"sub": None},
        {"sub": 5},
    ],
)
def test_claims_that_are_not_for_us_or_not_for_now(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadIdToken):
        read(RSA_KEY.sign(claims(**wrong)))


def test_claims_that_are() -> None:
    for right in ({"aud": [CLIENT_ID]}, {"aud": [CLIENT_ID, "x"], "azp": CLIENT_ID}, {"azp": CLIENT_ID}):
        read(RSA_KEY.sign(claims(**right)))
    other = Expected(ISSUER, CLIENT_ID, "rota", ("RS256",))
    read(RSA_KEY.sign(claims(aud=["rota"])), expected=other)


def test_only_allowed_algorithms_count() -> None:
    with pytest.raises(BadIdToken, match="isn't accepted"):
        read(EC_KEY.sign(claims()), expected=Expected(ISSUER, CLIENT_ID, CLIENT_ID, ("RS256",)))
    with pytest.raises(BadIdToken, match="isn't accepted"):
        read(unsigned("none"), expected=Expected(ISSUER, CLIENT_ID, CLIENT_ID, ("none", "HS256")))


def test_times_are_those_of_the_server() -> None:
    token, at_s = RSA_KEY.sign(claims()), claims()["iat"]
    read(token, at_ms=(at_s + 340) * 1000)
    with pytest.raises(BadIdToken, match="expired"):
        read(token, at_ms=(at_s + 400) * 1000)
    with pytest.raises(BadIdToken, match="time to come"):
        read(token, at_ms=(at_s - 400) * 1000)
    with pytest.raises(BadIdToken, match="too long ago"):
        read(RSA_KEY.sign(claims(exp=at_s + 10**6)), at_ms=(at_s + 700) * 1000)


def test_keys_that_are_no_good_are_no_help() -> None:
    weak = SigningKey("RS256")
    weak.private = rsa.generate_private_key(65537, 1024)
    curve = SigningKey("ES256")
    other = ec.generate_private_key(ec.SECP256K1())
    curve.private = other
    encryption = convert({**RSA_KEY.jwk, "use": "enc"}, Jwk)
    for key in (weak, curve):
        with pytest.raises(BadIdToken):
            read(key.sign(claims()), key)
    with pytest.raises(BadIdToken):
        read_id_token(RSA_KEY.sign(claims()), [encryption], EXPECTED, claims()["iat"] * 1000)
    for broken in ({"n": ""}, {"n": "A" * 100_000}, {"e": "!!"}, {"n": "AQAB"}):
        jwk = convert({**RSA_KEY.jwk, **broken}, Jwk)
        with pytest.raises(BadIdToken):
            read_id_token(RSA_KEY.sign(claims()), [jwk], EXPECTED, claims()["iat"] * 1000)


@pytest.mark.parametrize("raw", [NOT_TEXT.replace(b"alg", b"iss"), DEEP])
def test_claims_that_cannot_be_read_are_refused_whoever_signed_them(raw: bytes) -> None:
    key = EC_KEY
    signed = f"{b64(json.encode({'alg': key.algorithm, 'kid': key.kid}))}.{b64(raw)}"
    with pytest.raises(BadIdToken):
        read(f"{signed}.{b64(key._signature(signed.encode()))}")
