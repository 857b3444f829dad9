"""A small OpenID Connect provider: discovery, keys, the device flow (RFC 8628), and the authorization code
flow with PKCE (RFC 7636) behind a form that asks for a name and no password. A process on loopback.

    python -m tests.real.server.oidc_provider [NAME]

prints its issuer. `Provider` starts one, and tells it who approves what, which keys it has, and how it is to
misbehave.
"""

from __future__ import annotations

import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from secrets import token_hex
from typing import Any
from urllib.parse import urlencode

import urllib3
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from msgspec import json

CLIENT_ID = "rota-cli"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


def b64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _number(value: int) -> str:
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class SigningKey:
    def __init__(self, algorithm: str) -> None:
        self.kid = token_hex(4)
        self.algorithm = algorithm
        self.private: PrivateKey = (
            rsa.generate_private_key(65537, 2048)
            if algorithm == "RS256"
            else ec.generate_private_key(ec.SECP256R1())
        )

    @property
    def jwk(self) -> dict[str, str]:
        public = self.private.public_key()
        about = {"kid": self.kid, "use": "sig", "alg": self.algorithm}
        if isinstance(public, rsa.RSAPublicKey):
            numbers = public.public_numbers()
            return {**about, "kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
        point = public.public_numbers()
        x, y = (b64(value.to_bytes(32, "big")) for value in (point.x, point.y))
        return {**about, "kty": "EC", "crv": "P-256", "x": x, "y": y}

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        head = {"alg": self.algorithm, "kid": self.kid, "typ": "JWT", **header}
        stated = {name: value for name, value in head.items() if value is not None}
        signed = f"{b64(json.encode(stated))}.{b64(json.encode(claims))}"
        return f"{signed}.{b64(self._signature(signed.encode()))}"

    def _signature(self, signed: bytes) -> bytes:
        if isinstance(self.private, rsa.RSAPrivateKey):
            return self.private.sign(signed, padding.PKCS1v15(), SHA256())
        r, s = decode_dss_signature(self.private.sign(signed, ec.ECDSA(SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def claims_of(issuer: str, user: str, groups: list[str], **more: Any) -> dict[str, Any]:
    now = int(time.time())
    claims = {
        "iss": issuer,
        "sub": f"id-of-{user}",
        "aud": CLIENT_ID,
        "iat": now,
        "exp": now + 300,
        "preferred_username": user,
        "groups": groups,
        **more,
    }
    return {name: value for name, value in claims.items() if value is not None}


class _Server:
    def __init__(self) -> None:
        self.issuer = ""
        self.keys = [SigningKey("RS256")]
        self.flows: dict[str, dict[str, Any]] = {}
        """By device code."""
        self.codes: dict[str, dict[str, Any]] = {}
        """Given to browsers, with what each stands for."""
        self.next_claims: dict[str, Any] = {}
        """What the next ID token of a browser claims instead."""
        self.keeps_codes = False
        """Codes are good for more than once, as they never should be."""
        self.is_down = False
        self.asked: dict[str, int] = {}

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._count])
        app.router.add_get("/.well-known/openid-configuration", self.discovery)
        app.router.add_get("/keys", self.published)
        app.router.add_post("/device", self.device)
        app.router.add_post("/token", self.token)
        app.router.add_get("/authorize", self.authorize)
        app.router.add_post("/test", self.told)
        return app

    @web.middleware
    async def _count(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.asked[request.path] = self.asked.get(request.path, 0) + 1
        if self.is_down and request.path != "/test":
            raise web.HTTPServiceUnavailable
        answer: web.StreamResponse = await handler(request)
        return answer

    async def discovery(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "issuer": self.issuer,
                "jwks_uri": f"{self.issuer}/keys",
                "token_endpoint": f"{self.issuer}/token",
                "device_authorization_endpoint": f"{self.issuer}/device",
                "authorization_endpoint": f"{self.issuer}/authorize",
                "id_token_signing_alg_values_supported": ["RS256", "ES256"],
            }
        )

    async def published(self, request: web.Request) -> web.Response:
        others = [{"kty": "oct", "k": "c2VjcmV0"}, {"kty": "OKP", "crv": "Ed25519", "x": "AA", "use": "sig"}]
        return web.json_response({"keys": [*others, *(key.jwk for key in self.keys)]})

    async def device(self, request: web.Request) -> web.Response:
        form = await request.post()
        if form.get("client_id") != CLIENT_ID or "openid" not in str(form.get("scope")).split():
            return web.json_response({"error": "invalid_client"}, status=401)
        code, user_code = token_hex(16), token_hex(2).upper()
        self.flows[code] = {"user_code": user_code, "polled": 0.0, "interval": 1, "slowed": 0}
        return web.json_response(
            {
                "device_code": code,
                "user_code": user_code,
                "verification_uri": f"{self.issuer}/enter",
                "verification_uri_complete": f"{self.issuer}/enter?code={user_code}",
                "expires_in": 60,
                "interval": 1,
            }
        )

    async def authorize(self, request: web.Request) -> web.Response:
        """With `user` it is approved at once; without, whoever it is says so in a form."""
        asked = dict(request.query)
        if (
            asked.get("client_id") != CLIENT_ID
            or asked.get("response_type") != "code"
            or asked.get("code_challenge_method") != "S256"
            or not asked.get("redirect_uri", "").endswith("/sign-in/callback")
        ):
            return web.Response(status=400, text="this isn't asked as it should be")
        user, groups = asked.pop("user", None), asked.pop("groups", "")
        if user is None:
            hidden = "".join(
                f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
                for name, value in asked.items()
            )
            form = f'<form action="/authorize">{hidden}<input name="user"><input name="groups"><button>'
            return web.Response(
                text=f"<!doctype html>{form}Approve</button></form>", content_type="text/html"
            )
        if user == "nobody":
            answer = {"error": "access_denied", "state": asked["state"]}
        else:
            code = token_hex(16)
            self.codes[code] = {**asked, "user": user, "groups": groups.split()}
            answer = {"code": code, "state": asked["state"], "iss": self.issuer}
        raise web.HTTPFound(f"{asked['redirect_uri']}?{urlencode(answer)}")

    def _for_code(self, form: Mapping[str, Any]) -> web.Response:
        asked = self.codes.get(str(form.get("code")))
        if asked is None:
            return _refused("invalid_grant")
        if not self.keeps_codes:
            del self.codes[str(form["code"])]
        proof = b64(sha256(str(form.get("code_verifier")).encode()).digest())
        if proof != asked["code_challenge"] or form.get("redirect_uri") != asked["redirect_uri"]:
            return _refused("invalid_grant")
        claims = claims_of(self.issuer, asked["user"], asked["groups"], nonce=asked["nonce"])
        claims, self.next_claims = {**claims, **self.next_claims}, {}
        return web.json_response({"access_token": "opaque", "id_token": self.keys[-1].sign(claims)})

    async def token(self, request: web.Request) -> web.Response:
        form = await request.post()
        if form.get("grant_type") == "authorization_code" and form.get("client_id") == CLIENT_ID:
            return self._for_code(form)
        flow = self.flows.get(str(form.get("device_code")))
        if form.get("grant_type") != DEVICE_GRANT or form.get("client_id") != CLIENT_ID or flow is None:
            return _refused("invalid_grant")
        now = time.monotonic()
        early = now - flow["polled"] < flow["interval"] - 0.2
        flow["polled"] = now
        if early:
            flow["interval"] += 5
            return _refused("slow_down")
        if flow.get("error"):
            return _refused(flow["error"])
        if "claims" not in flow:
            return _refused("authorization_pending")
        id_token = self.keys[-1].sign(flow["claims"])
        return web.json_response({"access_token": "opaque", "token_type": "Bearer", "id_token": id_token})

    async def told(self, request: web.Request) -> web.Response:
        """By the test."""
        order = await request.json()
        match order["what"]:
            case "approve" | "deny":
                [flow] = [one for one in self.flows.values() if one["user_code"] == order["code"]]
                if order["what"] == "approve":
                    flow["claims"] = claims_of(self.issuer, order["user"], order["groups"])
                else:
                    flow["error"] = order["error"]
            case "rotate":
                self.keys = [*(self.keys if order["keep"] else []), SigningKey(order["algorithm"])]
            case "down":
                self.is_down = order["down"]
            case "claim":
                self.next_claims = order["claims"]
            case "keep codes":
                self.keeps_codes = order["keep"]
            case "sign":
                return web.json_response({"token": self.keys[-1].sign(order["claims"], **order["header"])})
        return web.json_response({"asked": self.asked, "key": self.keys[-1].jwk})


def _refused(error: str) -> web.Response:
    return web.json_response({"error": error}, status=400)


class Provider:
    """The process, as a test sees it."""

    def __init__(self, name: str = "127.0.0.1") -> None:
        """`name`: of this machine, by which it is known. For a browser, one that isn't the server's is
        another site."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, name],
            stdout=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        self.issuer = self._process.stdout.readline().strip()
        assert self.issuer.startswith(f"http://{name}:"), self.issuer
        self._pool = urllib3.PoolManager()

    def close(self) -> None:
        self._pool.clear()
        self._process.terminate()
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _tell(self, what: str, **order: Any) -> dict[str, Any]:
        body = json.encode({"what": what, **order})
        answer = self._pool.request("POST", f"{self.issuer}/test", body=body)
        assert answer.status == 200, answer.data
        found: dict[str, Any] = json.decode(answer.data)
        return found

    def approve(self, code: str, user: str, *groups: str) -> None:
        self._tell("approve", code=code, user=user, groups=list(groups))

    def deny(self, code: str, error: str = "access_denied") -> None:
        self._tell("deny", code=code, error=error)

    def rotate(self, algorithm: str = "RS256", *, keep: bool = False) -> None:
        self._tell("rotate", algorithm=algorithm, keep=keep)

    def go_down(self, down: bool = True) -> None:
        self._tell("down", down=down)

    def claim_next(self, **claims: Any) -> None:
        """In the next ID token of a browser, whatever is right."""
        self._tell("claim", claims=claims)

    def keep_codes(self, keep: bool = True) -> None:
        self._tell("keep codes", keep=keep)

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        token: str = self._tell("sign", claims=claims, header=header)["token"]
        return token

    def claims(self, user: str, *groups: str, **more: Any) -> dict[str, Any]:
        return claims_of(self.issuer, user, list(groups), **more)

    def id_token(self, user: str, *groups: str, **more: Any) -> str:
        return self.sign(self.claims(user, *groups, **more))

    @property
    def asked(self) -> dict[str, int]:
        found: dict[str, int] = self._tell("nothing")["asked"]
        return found

    @property
    def key(self) -> dict[str, str]:
        found: dict[str, str] = self._tell("nothing")["key"]
        return found


async def _serve(name: str) -> None:
    import asyncio

    server = _Server()
    runner = web.AppRunner(server.app())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    server.issuer = f"http://{name}:{port}"
    print(server.issuer, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    import asyncio

    asyncio.run(_serve(*sys.argv[1:] or ["127.0.0.1"]))
