"""A sign-in under way: all that must match is made of one cookie."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256

import pytest

from rota.server.sign_in.flow import LASTS_MS, Flow

NOW_MS = 1_800_000_000_000


def test_a_cookie_is_the_whole_of_it() -> None:
    flow = Flow.begun(NOW_MS, "/jobs?x=1")
    again = Flow.read(flow.cookie, NOW_MS + 1)
    assert again == flow
    assert (again.state, again.nonce, again.verifier) == (flow.state, flow.nonce, flow.verifier)
    assert len({flow.state, flow.nonce, flow.verifier, flow.challenge, flow.secret}) == 5


def test_the_challenge_is_that_of_rfc_7636() -> None:
    flow = Flow.begun(NOW_MS, "/")
    assert 43 <= len(flow.verifier) <= 128
    digest = sha256(flow.verifier.encode()).digest()
    assert flow.challenge == urlsafe_b64encode(digest).rstrip(b"=").decode()


def test_no_two_are_alike() -> None:
    one, other = Flow.begun(NOW_MS, "/"), Flow.begun(NOW_MS, "/")
    assert one.state != other.state


def test_whatever_is_changed_changes_the_state() -> None:
    flow = Flow.begun(NOW_MS, "/a")
    began, secret, path = flow.cookie.split(".")
    for cookie in (
        f"{int(began) + 1}.{secret}.{path}",
        f"{began}.{secret}.{urlsafe_b64encode(b'//evil').decode()}",
        f"{began}.{secret[::-1]}.{path}",
    ):
        changed = Flow.read(cookie, NOW_MS + 2)
        assert changed is not None
        assert changed.state != flow.state


def test_it_lasts_for_minutes() -> None:
    cookie = Flow.begun(NOW_MS, "/").cookie
    assert Flow.read(cookie, NOW_MS + LASTS_MS - 1) is not None
    assert Flow.read(cookie, NOW_MS + LASTS_MS) is None
    assert Flow.read(cookie, NOW_MS - 1) is None


@pytest.mark.parametrize("cookie", ["", "x", "1.2.3", f"{NOW_MS}.{'a' * 43}.=", f"{NOW_MS}.{'a' * 43}._w=="])
def test_what_is_none_is_none(cookie: str) -> None:
    assert Flow.read(cookie, NOW_MS) is None
