"""Which account a task may run as."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from rota.launch.account import Account
from rota.launch.accounts import ProjectAccounts, account_of_user

PEOPLE = {
    "root": (0, 0),
    "daemon": (1, 1),
    "mail": (999, 999),
    "wheel": (1000, 0),
    "ada": (1001, 1001),
    "rota": (1002, 1002),
}


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry(name: str) -> pwd.struct_passwd:
        uid, gid = PEOPLE[name]
        return pwd.struct_passwd((name, "x", uid, gid, "", f"/home/{name}", "/bin/sh"))

    monkeypatch.setattr(pwd, "getpwnam", entry)
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: [gid, 0, 50])
    monkeypatch.setattr(os, "getuid", lambda: 1002)


@pytest.mark.usefixtures("people")
@pytest.mark.covers("trust-2")
def test_a_user_has_their_own_account_and_groups_but_never_root_s() -> None:
    assert account_of_user("ada", {}) == Account(1001, 1001, (50,), "ada", "/home/ada")
    assert account_of_user("a.lovelace", {"a.lovelace": "ada"}).uid == 1001


@pytest.mark.usefixtures("people")
@pytest.mark.covers("trust-2")
@pytest.mark.parametrize(
    ("user", "why"),
    [
        ("root", "account of the system"),
        ("daemon", "account of the system"),
        ("mail", "account of the system"),
        ("wheel", "account of the system"),
        ("rota", "Rota's own"),
        ("eve", "has no account"),
        ("mapped", "account of the system"),
    ],
)
def test_who_is_refused(user: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        account_of_user(user, {"mapped": "root"})


@pytest.mark.covers("trust-2")
@pytest.mark.parametrize(("uid", "gid", "groups"), [(0, 5, ()), (5, 0, ()), (5, 5, (7, 0)), (-1, 5, ())])
def test_nobody_runs_as_root_or_in_its_group(uid: int, gid: int, groups: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="never runs as root"):
        Account(uid, gid, groups)


class TestProjects:
    def test_each_has_an_id_of_its_own_for_ever(self, tmp_path: Path) -> None:
        path = tmp_path / "uids.json"
        first = ProjectAccounts(path, 5000, 5002)
        assert [first.of(name).uid for name in ("red", "blue", "red")] == [5000, 5001, 5000]
        assert path.stat().st_mode & 0o777 == 0o600
        again = ProjectAccounts(path, 5000, 5002)
        assert [again.of(name).uid for name in ("green", "blue", "red")] == [5002, 5001, 5000]

    def test_none_is_given_twice_when_they_run_out(self, tmp_path: Path) -> None:
        accounts = ProjectAccounts(tmp_path / "uids.json", 5000, 5000)
        accounts.of("red")
        with pytest.raises(ValueError, match=r"worker\.uids"):
            accounts.of("blue")
        assert accounts.of("red").gid == 5000

    def test_a_file_that_cannot_be_read_gives_none_out_anew(self, tmp_path: Path) -> None:
        path = tmp_path / "uids.json"
        path.write_text('{"red": 50')
        with pytest.raises(ValueError, match=r"uids\.json: can't be read"):
            ProjectAccounts(path, 5000, 5002)
