"""The device flow of OAuth 2.0 (RFC 8628): the user signs in with a browser on any device."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import urlsplit

import urllib3
from msgspec import Struct, json
from urllib3.exceptions import HTTPError

from rota.api.sign_in import SignInDocument
from rota.sdk.call import UNREADABLE
from rota.sdk.errors import BadAnswer, Forbidden, Unreachable

T = TypeVar("T")

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_ANSWER_S = 15.0
_LARGEST_BYTES = 256 * 1024
_SLOWER_S = 5.0
"""That a provider may ask for, each time (RFC 8628, 3.5)."""
_SHORTEST_S, _LONGEST_S = 1.0, 60.0
_MOST_S = 1800.0


class Prompt(Struct, frozen=True):
    """What the user has to do in a browser."""

    url: str
    """With the code in it, if the provider has such an address."""
    plain_url: str
    code: str
    lasts_s: float


class _Begun(Struct, frozen=True):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: float = 600
    interval: float = 5


class _Answered(Struct, frozen=True):
    id_token: str = ""
    error: str = ""


def id_token_by_device_flow(
    terms: SignInDocument,
    show: Callable[[Prompt], None],
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """Raises Forbidden where it is denied or takes too long, Unreachable if the provider doesn't answer."""
    for url in (terms.device_authorization_endpoint, terms.token_endpoint):
        _check_safe(url)
    with urllib3.PoolManager(ssl_context=ssl.create_default_context()) as pool:
        form = {"client_id": terms.client_id, "scope": " ".join(terms.scopes)}
        begun = _post(pool, terms.device_authorization_endpoint, form, _Begun)
        lasts_s = min(max(begun.expires_in, 0), _MOST_S)
        show(
            Prompt(
                begun.verification_uri_complete or begun.verification_uri,
                begun.verification_uri,
                begun.user_code,
                lasts_s,
            )
        )
        until_s, pause_s = clock() + lasts_s, min(max(begun.interval, _SHORTEST_S), _LONGEST_S)
        form = {"client_id": terms.client_id, "device_code": begun.device_code, "grant_type": _GRANT}
        while clock() + pause_s <= until_s:
            sleep(pause_s)
            answered = _post(pool, terms.token_endpoint, form, _Answered)
            if answered.id_token:
                return answered.id_token
            match answered.error:
                case "authorization_pending":
                    continue
                case "slow_down":
                    pause_s = min(pause_s + _SLOWER_S, _LONGEST_S)
                case "access_denied":
                    raise Forbidden("the sign-in was denied", help="ask the operators of the provider")
                case "expired_token":
                    break
                case "":
                    raise BadAnswer("the provider gave no ID token", help="oidc.scopes must contain openid")
                case other:
                    raise BadAnswer(f"the provider refuses: {_plain(other)}", help="check oidc.client_id")
    raise Forbidden("the sign-in was not confirmed in time", help="run `rota login` again")


def _post(pool: urllib3.PoolManager, url: str, form: dict[str, str], wanted: type[T]) -> T:
    try:
        answer = pool.request(
            "POST",
            url,
            fields=form,
            encode_multipart=False,
            headers={"Accept": "application/json"},
            timeout=_ANSWER_S,
            redirect=False,
            retries=False,
            preload_content=False,
        )
        try:
            body = answer.read(_LARGEST_BYTES + 1)
        finally:
            answer.close()
    except HTTPError as error:
        raise Unreachable(
            f"the provider at {url} can't be reached: {error}", help="try again later"
        ) from None
    if answer.status >= 500 or len(body) > _LARGEST_BYTES:
        raise Unreachable(f"the provider answers {answer.status}", help="try again later")
    try:
        return json.decode(body, type=wanted)
    except UNREADABLE as error:
        refused = _refusal(body)
        why = f"refuses: {_plain(refused)}" if refused else f"gives an answer that can't be read: {error}"
        raise BadAnswer(
            f"the provider {why}", help="check oidc.client_id, and that its client may use the device flow"
        ) from None


def _refusal(body: bytes) -> str:
    try:
        return json.decode(body, type=_Answered).error
    except UNREADABLE:
        return ""


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:200]


def _check_safe(url: str) -> None:
    """An eavesdropper would be signed in as well."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_local = host == "localhost" or (host[:1] in "0123456789:" and ip_address(host).is_loopback)
    except ValueError:
        host, is_local = "", False
    if not host or (parts.scheme != "https" and not (parts.scheme == "http" and is_local)):
        raise BadAnswer(f"{_plain(url)} is not an https address", help="tell the operators of the server")
