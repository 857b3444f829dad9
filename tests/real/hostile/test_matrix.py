"""Every route, as every identity, about one's own project and another: the answer is the one in the table,
and nothing of the other project is in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import urllib3
from msgspec import json

from rota.lifecycle.state import Phase
from tests.real.hostile.matrix import IDENTITIES, OTHER, OWN, TABLE, Entry, Identity, Names
from tests.real.server.rota_server import PATIENCE_S, RotaServer, eventually, shell

pytestmark = pytest.mark.covers("ops-2", "trust-3")

PLANTED = "planted-3f9c"
"""In all that belongs to the other project."""
SEALED = "sealed-3f9c"
"""A secret's value: nobody is ever shown it."""
SIDES = (OWN, OTHER)
FEWEST_CALLS = 1000


class Ground:
    """A server with two projects, the same things in each, and whoever asks about them."""

    def __init__(self, server: RotaServer) -> None:
        self.server = server
        self.pool = urllib3.PoolManager(maxsize=4, retries=False)
        self.secrets: dict[str, str] = {}
        """Of each identity that has a token."""
        self.tokens: dict[str, str] = {}
        self.sessions: dict[str, dict[str, str]] = {}
        """What a browser sends, of each identity that uses one."""
        self.sides = {side: self._planted(side) for side in SIDES}
        for identity in IDENTITIES:
            self._introduce(identity)
        self._set_project(OWN, self.members)
        eventually(lambda: self._ask("GET", "/v1/me", "an expired token")[0] == 401, "a token to expire")

    @property
    def members(self) -> dict[str, str]:
        return {
            _user(one): one.own_role.value
            for one in IDENTITIES
            if one.own_role is not None and one.name.endswith("membership")
        }

    def _set_project(self, side: str, members: dict[str, str]) -> None:
        mark = PLANTED if side == OTHER else "plain"
        body = {"description": f"about {mark}", "members": {**members, f"user-{mark}": "viewer"}}
        status, answer, _ = self.server.rest("PUT", f"/v1/projects/{side}", body)
        assert status == 200, answer

    def _introduce(self, identity: Identity) -> None:
        is_expired = identity.name == "an expired token"
        if identity.token_role is None and not is_expired:
            return
        is_member = identity.name.endswith("membership")
        role = "admin" if identity.token_role is None else identity.token_role.value
        is_scoped = not is_member and role not in ("operator", "admin")
        form: dict[str, Any] = {"user": _user(identity), "role": role}
        form |= {"projects": [OWN]} if is_scoped else {}
        form |= {"expires_in": "1s"} if is_expired else {}
        status, token, _ = self.server.rest("POST", "/v1/tokens", form)
        assert status == 201, token
        self.secrets[identity.name], self.tokens[identity.name] = token["secret"], token["id"]
        if identity.name.endswith("session"):
            self.sessions[identity.name] = self._session(token["secret"])

    def _session(self, secret: str) -> dict[str, str]:
        answer = self.pool.request(
            "POST", f"{self.server.url}/sign-in/token", json={"token": secret}, timeout=PATIENCE_S
        )
        assert answer.status == 200, answer.data
        return {
            "cookie": answer.headers["set-cookie"].partition(";")[0],
            "origin": self.server.url,
            "x-csrf-token": answer.json()["csrf"],
        }

    def _planted(self, side: str) -> dict[str, str]:
        mark = PLANTED if side == OTHER else "plain"
        server = self.server
        self._set_project(side, {})
        status, answer, _ = server.rest(
            "PUT", f"/v1/projects/{side}/secrets/key", {"value": SEALED if side == OTHER else "plain-value"}
        )
        assert status == 200, answer
        token = server.rest("POST", "/v1/tokens", {"user": f"owner-{mark}", "role": "viewer"})[1]["id"]
        common: dict[str, Any] = {
            "project": side,
            "environment": {"NOTE": mark},
            "labels": {"note": mark},
            "resources": {"cpu": "1m", "memory": "1Mi"},
        }
        write = f"echo {mark} $KEY; mkdir -p deep; echo {mark} > deep/out"
        done, running, waiting, held, element = server.submit(
            shell(write, name=f"done-{mark}", outputs=["deep/out"], secrets={"KEY": "key"}, **common),
            shell(f"echo {mark}; sleep 600", name=f"running-{mark}", **{**common, "time_limit": "15m"}),
            shell("true", name=f"waiting-{mark}", start_after="2040-01-01T00:00:00Z", **common),
            shell("true", name=f"held-{mark}", hold=True, **common),
            shell("true", name=f"array-{mark}", hold=True, array="0-0", **common),
        )
        server.over(done)
        server.until(running, Phase.RUNNING)
        server.says(running, mark)
        return {
            "project": side,
            "done": done,
            "running": running,
            "waiting": waiting,
            "held": held,
            "array": element.partition(".")[0],
            "token": token,
            "node": server.node,
            "sha256": sha256(b"42").hexdigest(),
            "planted_file": sha256(b"none").hexdigest(),
        }

    # -- asking

    def names(self, identity: Identity, side: str) -> Names:
        names = dict(self.sides[side])
        if side == OWN:
            names["token"] = self.tokens.get(identity.name, names["token"])
        return names

    def ask(self, entry: Entry, identity: Identity, side: str) -> tuple[int, bytes]:
        names = self.names(identity, side)
        body = None if entry.body is None else entry.body(names)
        return self._ask(entry.method, entry.target(names), identity.name, body, is_stream=entry.streams)

    def _ask(
        self, method: str, target: str, identity: str, body: Any = None, is_stream: bool = False
    ) -> tuple[int, bytes]:
        headers = dict(self.sessions.get(identity, {}))
        if identity != "no token" and not headers:
            headers["authorization"] = f"Bearer {self.secrets.get(identity, 'rota_' + 'w' * 43)}"
        if body is not None and not isinstance(body, bytes):
            headers["content-type"] = "application/json"
            body = json.encode(body)
        answer = self.pool.request(
            method,
            f"{self.server.url}{target}",
            body=body,
            headers=headers,
            preload_content=False,
            timeout=PATIENCE_S,
        )
        is_stream = is_stream and answer.status == 200
        content = answer.read1() if is_stream else answer.read()
        if is_stream:
            assert content, f"{target} says nothing"
            answer.close()
        answer.release_conn()
        return answer.status, content


def _user(identity: Identity) -> str:
    return identity.name.replace(" ", "-")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    settings = {
        "ROTA_SERVER_LIMITS_HEARTBEAT": "100ms",
        "ROTA_AGENTS_ADDRESS": "127.0.0.1",
        "ROTA_AGENTS_PORT": "0",
    }
    home: Path = tmp_path_factory.mktemp("rota")
    server = RotaServer(home, environment=settings)
    server.start()
    made: Ground | None = None
    try:
        made = Ground(server)
        yield made
    finally:
        if made is not None:
            made.pool.clear()
        for job in server.unfinished():
            server.client.cancel(job.id)
        server.remove()


def test_every_answer_is_the_one_in_the_table(ground: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    calls, wrong, leaks, shown = 0, [], [], set()
    for entry in TABLE:
        for identity in IDENTITIES:
            for side in SIDES:
                status, content = ground.ask(entry, identity, side)
                calls += 1
                what = f"{entry.method} {entry.path or entry.route} as {identity.name}, {side} project"
                right = identity.expected(entry, side)
                if status not in right:
                    wrong.append(f"{what}: {status}, not {sorted(right)}: {content[:200]!r}")
                if SEALED.encode() in content:
                    leaks.append(f"{what}: a secret's value")
                if PLANTED.encode() in content:
                    shown.add(identity.name)
                    if not identity.sees(OTHER):
                        leaks.append(f"{what}: of the other project: {content[:200]!r}")
    routes = len({entry.route for entry in TABLE})
    with capsys.disabled():
        print(
            f"\nauthorisation matrix: {calls:,} calls of {routes} routes in {len(TABLE)} forms as "
            f"{len(IDENTITIES)} identities: {len(wrong)} unexpected, {len(leaks)} leaks",
            file=sys.stderr,
        )
    assert not wrong, "\n".join(wrong)
    assert not leaks, "\n".join(leaks)
    # Whoever may see it does: what was planted can be found.
    assert shown == {"operator by token", "admin by token", "operator by session"}
    assert calls >= FEWEST_CALLS


def test_nothing_was_changed_by_asking(ground: Ground) -> None:
    """All but uploads were dry runs, or refused: what there is stands as it stood."""
    for side in SIDES:
        names = ground.sides[side]
        phases = [ground.server.client.job(names[name]).job.phase for name in ("running", "waiting", "held")]
        assert phases == [Phase.RUNNING, Phase.PENDING, Phase.CREATED]
    projects = {one.name: one for one in ground.server.client.projects()}
    assert set(ground.members) <= set(projects[OWN].members)
    kinds = {event.kind for event in ground.server.client.events(kind="token.Revoked,node.Changed")}
    assert not kinds
