"""Signing in and out."""

from __future__ import annotations

from rota.api.documents import ChangeDocument
from rota.api.people import TokenDocument
from rota.api.sign_in import SignInDocument
from rota.sdk.call import Call, get, send, sent


class SignInCalls:
    """What a client asks to sign in and out."""

    @sent
    def sign_in_terms(self) -> Call[SignInDocument]:
        """What is needed to ask the server's provider for an ID token. Needs no valid token."""
        return get("/auth", SignInDocument)

    @sent
    def sign_in(self, id_token: str) -> Call[TokenDocument]:
        """A token for whom the ID token stands for; its secret is never shown again. Needs no valid token."""
        return send("POST", "/auth/sign-in", {"id_token": id_token}, TokenDocument)

    @sent
    def sign_out(self, *, dry_run: bool = False) -> Call[ChangeDocument]:
        """Remove the token that this client has, with all that were made with it."""
        return send("POST", "/auth/sign-out", None, ChangeDocument, dry_run=dry_run)
