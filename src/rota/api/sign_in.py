"""How to sign in by OpenID Connect."""

from __future__ import annotations

from rota.api.documents import Document


class SignInDocument(Document, frozen=True, kw_only=True):
    """What a client needs for the device flow (RFC 8628) with the provider."""

    issuer: str
    client_id: str
    scopes: list[str]
    device_authorization_endpoint: str
    token_endpoint: str
