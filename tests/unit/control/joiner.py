"""A machine's side of joining, for tests that call an enrolment directly."""

from __future__ import annotations

from typing import Protocol

from msgspec import json

from rota.trust.authority import read_certificate
from rota.trust.enrol import RENEW_PATH, Admission
from rota.trust.join_token import proof_key, proof_of, read_token_text
from rota.trust.keys import PrivateKey, new_key
from rota.trust.requests import authorization, new_request, read_request


class Admitting(Protocol):
    async def join(self, token_id: str, name: str, request: str, proof: str) -> Admission: ...

    async def renew(self, header: str | None, body: bytes, request: str) -> Admission: ...


async def join(
    enrolment: Admitting,
    token: str,
    name: str,
    key: PrivateKey | None = None,
    proof: str | None = None,
) -> Admission:
    text = read_token_text(token)
    request = new_request(key or new_key(), name).decode()
    if proof is None:
        proof = proof_of(proof_key(text.secret), read_request(request).der, name)
    return await enrolment.join(text.id, name, request, proof)


async def renew(
    enrolment: Admitting, admission: Admission, key: PrivateKey, following: PrivateKey
) -> Admission:
    request = new_request(following, admission.name).decode()
    body = json.encode({"request": request})
    certificate = read_certificate(admission.certificate.encode())
    header = authorization(key, certificate, "POST", RENEW_PATH, body)
    return await enrolment.renew(header, body, request)
