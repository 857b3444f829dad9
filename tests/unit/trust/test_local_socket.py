"""A socket that one user alone can reach: what is checked before anything is said by it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rota.trust import TrustError
from rota.trust.local_socket import LocalSocket, is_local, socket_path

pytestmark = pytest.mark.covers("ops-2")


@pytest.mark.parametrize("address", ["unix", "unix:/run/rota/agents.sock"])
def test_addresses_of_this_machine(address: str) -> None:
    assert is_local(address)


@pytest.mark.parametrize("address", ["", "127.0.0.1", "localhost:8427", "unix.example.org:1"])
def test_addresses_that_others_can_dial(address: str) -> None:
    assert not is_local(address)


def test_without_a_path_it_is_in_the_data_folder() -> None:
    assert socket_path("unix", "/data") == Path("/data/agents.sock")
    assert socket_path("unix:/run/a.sock", "/data") == Path("/run/a.sock")


def test_the_server_makes_the_folder_for_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "agents.sock"
    with LocalSocket(path, serves=True), LocalSocket(path):
        assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o701, 0o770, 0o1777])
@pytest.mark.parametrize("serves", [True, False])
def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path, mode: int, serves: bool) -> None:
    folder = tmp_path / "door"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(TrustError, match="other users may enter it"):
        LocalSocket(folder / "agents.sock", serves=serves)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
@pytest.mark.parametrize("serves", [True, False])
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, serves: bool) -> None:
    """Whoever owns it would be the server, to agents that dial it."""
    folder = tmp_path / "door"
    folder.mkdir(mode=0o700)
    os.chown(folder, 9002, 9002)
    with pytest.raises(TrustError, match="belongs to user 9002"):
        LocalSocket(folder / "agents.sock", serves=serves)


def test_one_server_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "door" / "agents.sock"
    with LocalSocket(path, serves=True), pytest.raises(TrustError, match="another server"):
        LocalSocket(path, serves=True)
    with LocalSocket(path, serves=True):
        pass


def test_no_folder_no_server(tmp_path: Path) -> None:
    with pytest.raises(TrustError, match="start the server with --agents unix:"):
        LocalSocket(tmp_path / "door" / "agents.sock")


def test_a_folder_that_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "door" / "agents.sock"
    with LocalSocket(path, serves=True) as socket:
        assert socket.is_current
        path.parent.rename(tmp_path / "away")
        assert [socket.is_current] == [False]
        path.parent.mkdir()
        assert [socket.is_current] == [False]
