"""Who bound pods and who led, by the API server's own record of what was asked of it."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Container
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "verbs": ["create", "patch"],
            "resources": [
                {"group": "", "resources": ["pods/binding"]},
                {"group": "coordination.k8s.io", "resources": ["leases"]},
            ],
        },
        {"level": "None"},
    ],
}
"""Those calls, and no others."""

Account: TypeAlias = str
"""Of one process: the id of the token that it shows."""
_TOKEN_ID = "authentication.kubernetes.io/credential-id"


class _Status(Struct, frozen=True):
    code: int = 0


class _What(Struct, frozen=True):
    resource: str = ""
    subresource: str = ""
    name: str = ""


class _User(Struct, frozen=True):
    username: str = ""
    extra: dict[str, list[str]] = {}


class Asked(Struct, frozen=True, rename="camel"):
    """A call, as it was recorded; times of one machine in one form: as text they are in order."""

    user: _User
    object_ref: _What
    request_received_timestamp: str
    stage_timestamp: str
    response_status: _Status = _Status()

    @property
    def account(self) -> Account:
        return next(iter(self.user.extra.get(_TOKEN_ID, ())), self.user.username)

    @property
    def is_done(self) -> bool:
        return self.response_status.code in (200, 201)


def account_of(token: str) -> Account:
    """Of who shows this token."""
    claims = token.split(".")[1]
    found = msgspec.json.decode(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    return f"JTI={found['jti']}"


class Audit:
    """From now on, of a record that grows."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read_bytes = file.stat().st_size if file.exists() else 0
        self._decoder = msgspec.json.Decoder(Asked)
        self.leases: list[Asked] = []
        """Written to, in order: only who holds it, or takes it from one that doesn't renew it, can."""
        self.bindings: list[Asked] = []
        """Also those that were refused."""

    def read(self) -> None:
        if not self._file.exists():
            return
        with open(self._file, "rb") as record:
            record.seek(self._read_bytes)
            for line in record:
                if not line.endswith(b"\n"):
                    break
                self._read_bytes += len(line)
                asked = self._decoder.decode(line)
                if asked.object_ref.resource != "leases":
                    self.bindings.append(asked)
                elif asked.is_done:
                    self.leases.append(asked)

    def leader(self) -> Account | None:
        self.read()
        return self.leases[-1].account if self.leases else None

    def bound_by(self, account: Account) -> int:
        self.read()
        return sum(one.account == account and one.is_done for one in self.bindings)

    def bound_twice(self) -> list[str]:
        counts = Counter(one.object_ref.name for one in self.bindings if one.is_done)
        return [f"{name} was bound {count} times" for name, count in counts.items() if count > 1]

    def asked_by_others(self, frozen: Container[Account] = ()) -> list[str]:
        """Bindings that were asked for after another had become the leader, and whether they were done.

        The first of each that was frozen is left out: it may have been in the very step that sends a binding,
        after it had asked itself whether it leads, and sends that one when it goes on.
        """
        calls = sorted(
            [(one.stage_timestamp, one, None) for one in self.leases]
            + [(one.request_received_timestamp, None, one) for one in self.bindings],
            key=lambda call: call[0],
        )
        found, leader = [], ""
        late: Counter[str] = Counter()
        for at, lease, binding in calls:
            if lease is not None:
                leader = lease.account
                late[leader] = 0
            elif binding is not None and binding.account != leader:
                late[binding.account] += 1
                if late[binding.account] == 1 and binding.account in frozen:
                    continue
                code = binding.response_status.code
                what = f"a binding of {binding.object_ref.name} ({code})"
                found.append(f"{what} was asked for at {at} by {binding.account}, while {leader} led")
        return found
