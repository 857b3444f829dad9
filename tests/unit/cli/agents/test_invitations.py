"""`rota agent token`, `join`, `ls`, `revoke`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from rota.api.cluster import AgentDocument, AgentState
from rota.trust.join_token import JoinTokenText, token_text
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import NOW, ago, later
from tests.unit.cli.fake_server import FakeServer

pytestmark = pytest.mark.covers("ops-2")


def test_a_token_is_all_that_is_printed(server: FakeServer) -> None:
    result = rota("agent", "token", "--pool", "gpu", "--label", "zone=a", "--taint", "gpu=yes:NoSchedule")
    assert (result.code, result.out) == (0, f"rotajoin_{'s' * 150}\n"), "in one line, however long it is"
    assert "run `rota agent join` on the new machine" in result.err
    [asked] = server.asked
    assert "gpu" in repr(asked)
    assert "zone" in repr(asked)


@pytest.mark.parametrize("option", [("--label", "zone"), ("--price", "much")])
def test_bad_options_invite_nobody(server: FakeServer, option: tuple[str, str]) -> None:
    result = rota("agent", "token", *option)
    assert (result.code, server.asked) == (1, [])
    assert option[0] in result.err


def test_agents_are_listed(server: FakeServer) -> None:
    server.agent_list = [
        AgentDocument(
            name="m1",
            state=AgentState.CONNECTED,
            pool="gpu",
            labels={},
            taints=[],
            joined=NOW,
            invited_by="ada",
            expires=later(3600),
            last_heartbeat=ago(60),
            version="1.0",
            clock_skew_s=-0.25,
            revoked=None,
            revoked_by="",
        )
    ]
    line = rota("agent", "ls", columns=160).lines[1].split()
    assert line == ["m1", "connected", "gpu", "1", "min", "ago", "1.0", "-0.2", "s", "13:00"]
    assert rota("agent", "ls", "-o", "name").out == "m1\n"


@pytest.mark.covers("agent-2")
def test_with_what_they_have_their_load_and_what_they_run(server: FakeServer) -> None:
    server.agent_list = [
        AgentDocument(
            name="m1",
            state=AgentState.CONNECTED,
            pool="gpu",
            labels={},
            taints=[],
            joined=None,
            invited_by="",
            expires=None,
            last_heartbeat=ago(2),
            version="1.0",
            clock_skew_s=0,
            revoked=None,
            revoked_by="",
            capacity={"cpu": 8, "memory": 16 << 30},
            used={"cpu": 2, "memory": 1 << 30},
            load=0.25,
            memory_used=4 << 30,
            tasks=2,
            runs=["ci/build", "ci/test"],
        )
    ]
    line = " ".join(rota("agent", "ls", "-o", "wide", columns=200).lines[1].split())
    assert line.startswith("m1 connected gpu 2 of 8 1Gi of 16Gi 0.25 4Gi 2 2 s ago 1.0")
    assert line.endswith("needs none ci/build, ci/test")


def test_agents_are_revoked(server: FakeServer) -> None:
    assert rota("agent", "revoke", "m1", "m2").code == 0
    assert [asked[1] for asked in server.asked] == ["m1", "m2"]


@pytest.mark.parametrize(
    "token, said",
    [
        ("nonsense", "no join token"),
        (token_text(JoinTokenText("", bytes(32), "j1", bytes(32))), "doesn't say where the server is"),
        (token_text(JoinTokenText("ftp://x", bytes(32), "j1", bytes(32))), "is not an address"),
    ],
)
def test_a_bad_token_is_told_and_leaves_nothing(tmp_path: Path, token: str, said: str) -> None:
    result = rota("agent", "join", token, "--name", "m1", "--data", str(tmp_path / "agent"))
    assert result.code == 1
    assert said in result.err.replace("\n", " ")
    assert not (tmp_path / "agent" / "identity.json").exists()


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    token = token_text(JoinTokenText("http://127.0.0.1:1", bytes(32), "j1", bytes(32)))
    result = rota("agent", "join", token, "--name", "m1", "--data", str(tmp_path / "agent"))
    assert result.code == 5
    assert "can't be reached" in result.err


UNREACHABLE = token_text(JoinTokenText("http://127.0.0.1:1", bytes(32), "j1", bytes(32)))


def test_a_token_on_the_command_line_is_warned_of(tmp_path: Path) -> None:
    """Every user of the machine sees it there, as `ps` does."""
    result = rota("agent", "join", UNREACHABLE, "--name", "m1", "--data", str(tmp_path))
    assert "other users of this machine can see this token" in result.err


def test_a_token_by_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTA_JOIN_TOKEN", UNREACHABLE)
    result = rota("agent", "join", "--name", "m1", "--data", str(tmp_path))
    assert result.code == 5
    assert "can see" not in result.err


def test_a_token_by_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{UNREACHABLE}\n"))
    result = rota("agent", "join", "--name", "m1", "--data", str(tmp_path))
    assert (result.code, "can see" in result.err) == (5, False)
