"""What the routes of sign-in call: how to sign in, and the user of an ID token."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256

from rota.api.sign_in import SignInDocument
from rota.control.errors import Unavailable
from rota.server.sign_in.groups import Grants, GroupRules
from rota.server.sign_in.id_token import FRESH_MS, LEEWAY_MS, BadIdToken, Expected, UnknownKey, read_id_token
from rota.server.sign_in.provider import Provider

_MOST_REMEMBERED = 100_000


class SignIn:
    def __init__(
        self,
        provider: Provider,
        expected: Expected,
        rules: GroupRules,
        scopes: tuple[str, ...],
        session_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        """`session_ms`: the lifetime of a token from a sign-in."""
        self.issuer = expected.issuer
        self.session_ms = session_ms
        self._provider = provider
        self._expected = expected
        self._rules = rules
        self._scopes = scopes
        self._now_ms = now_ms
        self._used: OrderedDict[bytes, int] = OrderedDict()
        """ID tokens that were used to sign in, by hash, and when."""

    async def how(self) -> SignInDocument:
        metadata = (await self._provider.known()).metadata
        if not metadata.device_authorization_endpoint:
            raise Unavailable("the provider that people sign in with has no device flow", "ask the operators")
        return SignInDocument(
            issuer=metadata.issuer,
            client_id=self._expected.client_id,
            scopes=list(self._scopes),
            device_authorization_endpoint=metadata.device_authorization_endpoint,
            token_endpoint=metadata.token_endpoint,
        )

    async def who(self, id_token: str) -> Grants:
        """Raises BadIdToken. Each ID token is good for one sign-in."""
        now_ms = self._now_ms()
        known = await self._provider.known()
        try:
            claims = read_id_token(id_token, known.keys, self._expected, now_ms)
        except UnknownKey:
            known = await self._provider.anew(known)
            claims = read_id_token(id_token, known.keys, self._expected, now_ms)
        grants = self._rules.grants(claims)
        # The signed part alone: a signature can be written in several ways.
        self._use(sha256(id_token.rpartition(".")[0].encode()).digest(), now_ms)
        return grants

    def _use(self, digest: bytes, now_ms: int) -> None:
        while self._used and next(iter(self._used.values())) + FRESH_MS + 2 * LEEWAY_MS <= now_ms:
            self._used.popitem(last=False)
        if digest in self._used or len(self._used) >= _MOST_REMEMBERED:
            raise BadIdToken("this ID token was used already: sign in again")
        self._used[digest] = now_ms
