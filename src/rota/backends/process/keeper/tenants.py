"""Whose task it is, and so which account it runs as."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from rota.backends.backend import TaskStart
from rota.clock import since_boot_ms
from rota.launch.account import Account
from rota.launch.accounts import Confinement, Isolation, ProjectAccounts, account_of_user

_KNOWN_FOR_MS = 300_000
_REFUSED_FOR_MS = 10_000


class Tenants:
    def __init__(self, confinement: Confinement, uids: Path) -> None:
        """`uids`: the file that says which project has which. Raises ValueError if it can't be read."""
        self._isolation = confinement.isolation
        self._accounts = confinement.accounts
        self._projects = ProjectAccounts(uids, *confinement.uids)
        self._users: dict[str, tuple[Account | str, int]] = {}
        """With each account, or why there is none: until when that is taken for true."""

    def are_known(self, start: TaskStart) -> bool:
        """False: it has to be looked up first, which can take long."""
        if self._isolation is not Isolation.USER:
            return True
        _, until_ms = self._users.get(start.user, ("", 0))
        return since_boot_ms() < until_ms

    def look_up(self, start: TaskStart) -> partial[str]:
        """To be done aside; the text is for `learn`."""
        return partial(_look_up, start.user, self._accounts)

    def learn(self, start: TaskStart, text: str, failure: str) -> None:
        if failure:
            self._users[start.user] = failure, since_boot_ms() + _REFUSED_FOR_MS
        else:
            account = msgspec.json.decode(text, type=Account)
            self._users[start.user] = account, since_boot_ms() + _KNOWN_FOR_MS

    def account_of(self, start: TaskStart) -> Account | None:
        """None: as the keeper. Raises ValueError if it may run as nobody, and OSError."""
        match self._isolation:
            case Isolation.PROJECT:
                return self._projects.of(start.project)
            case Isolation.USER:
                found, _ = self._users[start.user]
                if isinstance(found, str):
                    raise ValueError(found)
                return found
            case _:
                return None


def _look_up(user: str, accounts: dict[str, str]) -> str:
    return msgspec.json.encode(account_of_user(user, accounts)).decode()
