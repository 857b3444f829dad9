"""What a server would refuse is found without starting one."""

from __future__ import annotations

import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rota.server.service.own_folder import own_folder
from rota.server.service.preflight import Finding, is_served, preflight
from rota.settings.load import load_settings
from rota.store.store import open_store


def found(tmp_path: Path, **flags: object) -> list[Finding]:
    given = {name.replace("__", "."): value for name, value in flags.items()}
    base: dict[str, object] = {"server.data": str(tmp_path / "data"), "server.port": 0}
    return preflight(load_settings((), {}, {**base, "worker.allow_root": True, **given}))


def test_settings_that_a_server_starts_with_have_nothing_wrong(tmp_path: Path) -> None:
    assert found(tmp_path) == []
    with open_store(f"sqlite:///{tmp_path}/data/rota.db"):
        assert found(tmp_path) == []
    assert not (tmp_path / "data" / "secrets.key").exists()


@pytest.mark.covers("ops-3")
def test_a_policy_that_is_missing_or_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    [missing] = found(tmp_path, server__policy=str(tmp_path / "no.yaml"))
    assert "no.yaml" in missing.text
    policy = tmp_path / "policy.yaml"
    policy.write_text("queues:\n  - {nam: x}\n")
    assert any(f"{policy}:2" in one.text for one in found(tmp_path, server__policy=str(policy)))


def test_certificates_that_arent_there(tmp_path: Path) -> None:
    flags = {"server__tls__certificate": str(tmp_path / "c.pem"), "server__tls__key": str(tmp_path / "k.pem")}
    [one] = found(tmp_path, **flags)
    assert (one.is_warning, "c.pem: no such file" in one.text) == (False, True)


def test_folders_that_are_files(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert "is not a folder" in found(tmp_path)[0].text


def test_a_database_of_somebody_else_and_one_that_doesnt_answer(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with closing(sqlite3.connect(tmp_path / "data" / "rota.db")) as database:
        database.execute("CREATE TABLE recipes (name)")
    [one] = found(tmp_path)
    assert "recipes" in one.text
    [one] = found(tmp_path / "x", server__database="postgresql://rota:hunter2@127.0.0.1:1/rota")
    assert one.text.startswith("server.database: ")
    assert "hunter2" not in one.text


def test_a_key_file_that_holds_none(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secrets.key").write_text("swordfish\n")
    [one] = found(tmp_path)
    assert ("isn't a key" in one.text, "swordfish" in one.text) == (True, False)


def test_a_port_in_use_is_a_warning_unless_it_is_the_servers_own(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        [one] = found(tmp_path, server__port=port)
        assert (one.is_warning, "is in use" in one.text) == (True, True)
        with own_folder(tmp_path / "data"):
            assert is_served(tmp_path / "data")
            assert found(tmp_path, server__port=port) == []
    assert not is_served(tmp_path / "data")
