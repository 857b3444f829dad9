"""Which names are the server's own."""

from __future__ import annotations

import pytest

from rota.server.browser.hosts import Hosts, name_of
from rota.server.http.problems import ProblemError

HOSTS = Hosts.of(["Rota.example.org.", "*.lab.example.org", ""])


@pytest.mark.parametrize(
    "host",
    [
        "rota.example.org",
        "ROTA.example.org:8426",
        "rota.example.org.",
        "a.lab.example.org",
        "localhost:80",
        "x.localhost",
        "127.0.0.1:8426",
        "10.1.2.3",
        "[::1]:8426",
        "[fe80::1]",
    ],
)
def test_these_are(host: str) -> None:
    assert HOSTS.has(host)
    HOSTS.check("/v1/me", host, has_token=False)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.org",
        "rota.example.org.evil.org",
        "xrota.example.org",
        "lab.example.org",
        "a.b.lab.example.org",
        "localhost.evil.org",
        "127.0.0.1.evil.org",
        "rota.example.org@evil.org",
        "evil.org/rota.example.org",
        "evil.org?localhost",
        "evil.org#localhost",
        "rota.example.org:evil",
        "[::1",
        ":80",
    ],
)
def test_these_are_not(host: str) -> None:
    assert not HOSTS.has(host)
    with pytest.raises(ProblemError) as caught:
        HOSTS.check("/sign-in", host, has_token=False)
    assert (caught.value.status, caught.value.kind) == (421, "misdirected")
    # A token in a header is sent by nobody who doesn't have it, and probes learn nothing.
    HOSTS.check("/v1/me", host, has_token=True)
    HOSTS.check("/healthz", host, has_token=False)


def test_a_star_is_any_name() -> None:
    assert Hosts.of(["*"]).has("evil.org")
    assert not Hosts.of(["*"]).has("")


def test_names_have_no_ports() -> None:
    assert name_of("a.org:80") == "a.org"
    assert name_of("[::1]:80") == "::1"
