"""Sign-in by OpenID Connect: a real provider, server and command line, and what attackers try."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rota.api.audit import Verdict
from rota.api.people import Role, TokenDocument
from rota.sdk.client import Client
from rota.sdk.errors import Forbidden, NotFound, RotaError, Unauthorised
from tests.real.server.oidc_provider import CLIENT_ID, Provider, SigningKey, b64
from tests.real.server.rota_server import NO_RETRIES, RotaServer, eventually, shell

pytestmark = pytest.mark.covers("trust-6", "ops-2")

SETTINGS = """
[oidc]
issuer = "{issuer}"
client_id = "{client_id}"
roles = ["ops=operator", "staff=submitter"]
projects = ["ml=vision:submitter", "leads=vision:project-admin", "ml=speech:viewer"]
session = "1h"

[server.limits]
token_age = "{token_age}"
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


def server_of(provider: Provider, folder: Any, token_age: str = "0") -> RotaServer:
    server = RotaServer(folder)
    file = folder / "config" / "rota" / "rota.toml"
    file.parent.mkdir(parents=True)
    file.write_text(SETTINGS.format(issuer=provider.issuer, client_id=CLIENT_ID, token_age=token_age))
    server.start()
    return server


@pytest.fixture(scope="module")
def server(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    made = server_of(provider, tmp_path_factory.mktemp("sign-in"))
    for project in ("vision", "speech", "elsewhere"):
        made.client.set_project(project)
    yield made
    made.remove()


def sign_in(server: RotaServer, id_token: str) -> TokenDocument:
    with Client(server.url, "nobody", retries=NO_RETRIES) as client:
        return client.sign_in(id_token)


def signed_in(server: RotaServer, id_token: str) -> Client:
    secret = sign_in(server, id_token).secret
    assert secret is not None
    return Client(server.url, secret, retries=NO_RETRIES, stream_retries=NO_RETRIES)


def user_home(server: RotaServer) -> dict[str, str]:
    """Of somebody who has no server of their own on this machine."""
    return {"XDG_CONFIG_HOME": str(server.home / "users"), "XDG_DATA_HOME": str(server.home / "nothing")}


class Login:
    """`rota login`, until it is asked to be confirmed in a browser."""

    def __init__(self, server: RotaServer, *words: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rota", *words],
            env={**server.environment, **user_home(server)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        self.code = self.url.partition("code=")[2]

    def end(self) -> tuple[int, str]:
        _, told = self._process.communicate(timeout=60)
        return self._process.returncode, told


def user_cli(server: RotaServer, *words: str) -> subprocess.CompletedProcess[str]:
    return server.rota(*words, environment=user_home(server))


def test_login_and_logout_by_the_device_flow(server: RotaServer, provider: Provider) -> None:
    login = Login(server, "login", server.url, "--name", "lab")
    assert login.url.startswith(provider.issuer)
    provider.approve(login.code, "ada", "ml", "leads", "unheard-of")
    status, told = login.end()
    assert status == 0, told
    assert "signed in as ada with the role project-admin" in told
    token_file = server.home / "users" / "rota" / "tokens" / "lab"
    assert token_file.stat().st_mode & 0o777 == 0o600
    secret = token_file.read_text().strip()
    [token] = [one for one in server.client.tokens() if one.user == "ada"]
    assert (token.role, token.origin, token.projects) == (Role.PROJECT_ADMIN, provider.issuer, None)
    assert token.grants == {"speech": Role.VIEWER, "vision": Role.PROJECT_ADMIN}
    assert token.expires is not None
    assert 3500 < (token.expires - token.created).total_seconds() <= 3600
    assert user_cli(server, "ls").returncode == 0
    done = user_cli(server, "logout")
    assert done.returncode == 0, done.stderr
    assert not token_file.exists()
    assert user_cli(server, "ls").returncode != 0
    with Client(server.url, secret, retries=NO_RETRIES) as gone, pytest.raises(Unauthorised):
        gone.me()
    made, removed = reversed(list(server.client.audit(user="ada")))
    assert (made.route, made.verdict, made.subject) == ("/v1/auth/sign-in", Verdict.DONE, token.id)
    assert (removed.route, removed.token) == ("/v1/auth/sign-out", token.id)
    again = Login(server, "login")
    provider.approve(again.code, "ada", "staff")
    assert again.end()[0] == 0


@pytest.mark.parametrize(("error", "told"), [("access_denied", "denied"), ("expired_token", "in time")])
def test_what_nobody_confirms_is_no_sign_in(
    server: RotaServer, provider: Provider, error: str, told: str
) -> None:
    login = Login(server, "login", server.url, "--name", "denied")
    provider.deny(login.code, error)
    status, text = login.end()
    assert status == 4
    assert told in text
    assert not (server.home / "users" / "rota" / "tokens" / "denied").exists()


def test_groups_have_roles_and_projects(server: RotaServer, provider: Provider) -> None:
    with signed_in(server, provider.id_token("bob", "ml")) as bob:
        assert bob.me().role is Role.SUBMITTER
        [job] = bob.submit(shell("true", project="vision", hold=True)).jobs
        bob.cancel(job.id)
        for project in ("speech", "elsewhere"):
            with pytest.raises(Forbidden):
                bob.submit(shell("true", project=project))
        with pytest.raises(Forbidden):
            bob.set_project("vision", description="mine")
        child = bob.add_token("bob", Role.SUBMITTER)
        assert child.secret is not None
        with server.impatient(child.secret) as lesser:
            [job] = lesser.submit(shell("true", project="vision", hold=True)).jobs
            lesser.cancel(job.id)
            with pytest.raises(Forbidden):
                lesser.submit(shell("true", project="speech"))
            bob.sign_out()
            with pytest.raises(Unauthorised):
                lesser.me()
    with signed_in(server, provider.id_token("olga", "ops")) as olga:
        assert olga.me().role is Role.OPERATOR
        with pytest.raises(Forbidden):
            olga.add_token("eve", Role.VIEWER)
    for groups in ((), ("other",)):
        with pytest.raises(Unauthorised, match="none of your groups"):
            sign_in(server, provider.id_token("eve", *groups))


def test_a_group_that_is_left_counts_until_the_next_sign_in(server: RotaServer, provider: Provider) -> None:
    assert sign_in(server, provider.id_token("ida", "ops")).role is Role.OPERATOR
    assert sign_in(server, provider.id_token("ida", "staff")).role is Role.SUBMITTER


def test_each_id_token_is_good_for_one_sign_in(server: RotaServer, provider: Provider) -> None:
    token = provider.id_token("rex", "staff")
    with signed_in(server, token) as rex:
        rex.sign_out()
    with pytest.raises(Unauthorised, match="used already"):
        sign_in(server, token)


def forged(provider: Provider) -> dict[str, str]:
    own = SigningKey("RS256")
    key = provider.key
    good = provider.id_token("mallory", "ops", jti=str(time.time()))
    head, claims, _ = good.split(".")
    none = b64(b'{"alg":"none"}')
    hs256 = b64(b'{"alg":"HS256"}')
    return {
        "alg none": f"{none}.{claims}.",
        "no signature": f"{head}.{claims}.",
        "HS256 with the public key": f"{hs256}.{claims}.{b64(key['n'].encode())}",
        "another key": own.sign(provider.claims("mallory", "ops")),
        "another key under its name": own.sign(provider.claims("mallory", "ops"), kid=key["kid"]),
        "its own key in the header": own.sign(provider.claims("mallory", "ops"), kid=None, jwk=own.jwk),
        "another issuer": provider.id_token("mallory", "ops", iss="https://evil.example"),
        "another audience": provider.id_token("mallory", "ops", aud="another-app"),
        "another azp": provider.id_token("mallory", "ops", azp="another-app"),
        "expired": provider.id_token("mallory", "ops", exp=int(time.time()) - 3600),
        "made long ago": provider.id_token("mallory", "ops", iat=int(time.time()) - 7200),
        "not yet": provider.id_token("mallory", "ops", nbf=int(time.time()) + 3600),
        "nobody": provider.id_token("", "ops"),
        "the system": provider.id_token("rota", "ops"),
        "steering the terminal": provider.id_token("\x1b[2J", "ops"),
        "an access token": "opaque",
        "empty": "",
    }


def test_forged_tokens_are_refused_and_recorded(server: RotaServer, provider: Provider) -> None:
    before = {one.id for one in server.client.tokens()}
    for token in forged(provider).values():
        with pytest.raises(Unauthorised):
            sign_in(server, token)
    status, _, _ = server.rest("POST", "/v1/auth/sign-in", {"id_token": "x" * 100_000})
    assert status == 422
    assert {one.id for one in server.client.tokens()} == before
    refused = eventually(
        lambda: [
            one
            for one in server.client.audit(verdict=Verdict.REFUSED)
            if one.route == "/v1/auth/sign-in" and one.status == 401
        ]
    )
    assert refused[0].address == "127.0.0.1"
    assert "eyJ" not in server.log.read_text()


def test_keys_change_hands(provider: Provider, tmp_path: Any) -> None:
    server = server_of(provider, tmp_path / "rota")
    try:
        old = provider.id_token("kim", "staff")
        sign_in(server, provider.id_token("kim", "staff", jti="1"))
        asked = provider.asked["/keys"]
        provider.rotate("ES256", keep=True)
        # Whoever invents keys can't make the server ask the provider more than now and then.
        for _ in range(5):
            with pytest.raises(Unauthorised):
                sign_in(server, SigningKey("RS256").sign(provider.claims("eve", "ops")))
        assert provider.asked["/keys"] <= asked + 1
        eventually(lambda: _signs_in(server, provider.id_token("kim", "staff", jti=str(time.time()))))
        sign_in(server, old)
        provider.rotate("RS256", keep=False)
    finally:
        server.remove()


def _signs_in(server: RotaServer, id_token: str) -> bool:
    try:
        sign_in(server, id_token)
    except Unauthorised:
        time.sleep(0.5)
        return False
    return True


def test_a_provider_that_is_away(provider: Provider, tmp_path: Any) -> None:
    server = server_of(provider, tmp_path / "rota")
    try:
        provider.go_down()
        with Client(server.url, "nobody", retries=NO_RETRIES) as client:
            with pytest.raises(RotaError, match="doesn't answer"):
                client.sign_in_terms()
            with pytest.raises(RotaError, match="doesn't answer"):
                client.sign_in("a.b.c")
        assert server.client.me().role is Role.ADMIN
        provider.go_down(False)
        eventually(lambda: _reaches(server))
        provider.go_down()
        sign_in(server, provider.id_token("una", "staff"))
    finally:
        provider.go_down(False)
        server.remove()


def _reaches(server: RotaServer) -> bool:
    with Client(server.url, "nobody", retries=NO_RETRIES) as client:
        try:
            client.sign_in_terms()
        except RotaError:
            time.sleep(0.5)
            return False
    return True


def test_no_session_is_longer_than_tokens_may_be(provider: Provider, tmp_path: Any) -> None:
    server = server_of(provider, tmp_path / "rota", token_age="10m")
    try:
        token = sign_in(server, provider.id_token("zoe", "staff"))
        assert token.expires is not None
        assert (token.expires - token.created).total_seconds() <= 600
    finally:
        server.remove()


def test_a_server_without_a_provider_says_so(tmp_path: Any) -> None:
    server = RotaServer(tmp_path / "rota")
    server.start()
    try:
        with Client(server.url, "nobody", retries=NO_RETRIES) as client, pytest.raises(NotFound):
            client.sign_in_terms()
        told = user_cli(server, "login", server.url).stderr
        assert re.search(r"no provider to sign in with", told), told
        assert user_cli(server, "login").returncode == 1
    finally:
        server.remove()
