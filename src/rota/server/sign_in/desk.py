"""What the routes of sign-in call: how to sign in, and the user of an ID token."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import urlencode

from rota.api.sign_in import SignInDocument
from rota.control.errors import Unavailable
from rota.server.sign_in.flow import Flow
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
        self._ended: OrderedDict[bytes, None] = OrderedDict()
        """Sign-ins of browsers, by hash."""

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

    async def way(self, flow: Flow, redirect_uri: str) -> str:
        """Where a browser is sent to sign in."""
        endpoint = (await self._provider.known()).metadata.authorization_endpoint
        if not endpoint:
            raise Unavailable("the provider has no sign-in for browsers", "use `rota login`, or a token")
        asked = {
            "response_type": "code",
            "client_id": self._expected.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(self._scopes),
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": flow.challenge,
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    async def who_came(self, flow: Flow, code: str, redirect_uri: str) -> Grants:
        """By the code that the provider gave to a browser. Raises BadIdToken. The caller has compared the
        state."""
        self._end(sha256(flow.cookie.encode()).digest())
        id_token = await self._provider.exchanged(
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": redirect_uri,
                "client_id": self._expected.client_id,
                "code_verifier": flow.verifier,
            }
        )
        return await self.who(id_token, flow.nonce)

    async def who(self, id_token: str, nonce: str | None = None) -> Grants:
        """Raises BadIdToken. Each ID token is good for one sign-in, and only for the one with this nonce if
        there is one."""
        now_ms = self._now_ms()
        known = await self._provider.known()
        try:
            claims = read_id_token(id_token, known.keys, self._expected, now_ms)
        except UnknownKey:
            known = await self._provider.anew(known)
            claims = read_id_token(id_token, known.keys, self._expected, now_ms)
        if nonce is not None and claims.all.get("nonce") != nonce:
            raise BadIdToken("the ID token is of another sign-in")
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

    def _end(self, digest: bytes) -> None:
        """The provider takes each code once. This holds even if it doesn't."""
        if digest in self._ended:
            raise BadIdToken("this sign-in is over: begin another")
        self._ended[digest] = None
        if len(self._ended) > _MOST_REMEMBERED:
            self._ended.popitem(last=False)  # Anybody can begin many: they must not keep others out.
