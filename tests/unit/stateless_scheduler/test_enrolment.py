"""Agents join by a scheduler that keeps nothing: once for each invitation, and only by the name it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.api.people import Role
from rota.backends.roster import AgentSeen
from rota.control.access import Who
from rota.control.agent_admission import Addresses
from rota.control.errors import BadInput, Conflict
from rota.stateless_scheduler.authority import Vouched
from rota.stateless_scheduler.enrolment import SchedulerEnrolment
from rota.store.writing.batch import AgentNode
from rota.trust import Authority, identity_of
from rota.trust.authority import AGENT_LASTS_MS, read_certificate
from rota.trust.join_token import LASTS_MS, read_token_text
from rota.trust.keys import new_key
from tests.unit.control.joiner import join, renew

pytestmark = pytest.mark.covers("ops-2")

START_MS = 1_800_000_000_000
ADA = Who("ada", Role.OPERATOR)
AUTHORITY = Authority.create(START_MS)


class Desk(SchedulerEnrolment):
    def __init__(self, revoked: Path) -> None:
        self.now_ms = START_MS
        self.roster = Vouched(revoked)
        super().__init__(AUTHORITY, self.roster, lambda: self.now_ms)
        self.addresses = Addresses("https://rota.example.org", "rota:8427")

    async def token(self, name: str = "one") -> str:
        return (await self.invite(name, AgentNode(), ADA))[1]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "revoked")


async def test_who_is_invited_joins_once(desk: Desk) -> None:
    token, key = await desk.token(), new_key()
    assert read_token_text(token).url == "https://rota.example.org"
    assert read_token_text(token).authority_sha256 == AUTHORITY.fingerprint
    # By the name that the invitation is for, whatever the machine calls itself.
    admission = await join(desk, token, "its-host", key)
    assert (admission.name, admission.agents_address) == ("one", "rota:8427")
    assert AUTHORITY.identify(read_certificate(admission.certificate.encode()), START_MS).name == "one"
    # An answer that was lost is given again, to the same key alone.
    assert await join(desk, token, "its-host", key) == admission
    with pytest.raises(BadInput, match="no such invitation"):
        await join(desk, token, "its-host")


async def test_invitations_expire_and_are_known_to_who_made_them(desk: Desk, tmp_path: Path) -> None:
    token = await desk.token()
    with pytest.raises(BadInput, match="no such invitation"):
        await join(desk, token, "one", proof="00")
    with pytest.raises(BadInput, match="no such invitation"):
        await join(Desk(tmp_path / "revoked"), token, "one")
    desk.now_ms += LASTS_MS
    with pytest.raises(BadInput, match="no such invitation"):
        await join(desk, token, "one")


async def test_a_trial_invites_nobody(desk: Desk) -> None:
    _, token = await desk.invite("one", AgentNode(), ADA, dry_run=True)
    with pytest.raises(BadInput, match="no such invitation"):
        await join(desk, token, "one")


async def test_who_can_not_be_invited(desk: Desk) -> None:
    with pytest.raises(BadInput, match="is missing"):
        await desk.token("")
    with pytest.raises(BadInput, match="not a name for an agent"):
        await desk.token("../one")
    with pytest.raises(BadInput, match="stores nothing about its agents"):
        await desk.invite("one", AgentNode("gpu"), ADA)
    desk.roster.watch(lambda: {"one": AgentSeen(connected=True, heartbeat_ms=START_MS)}, lambda _: None)
    with pytest.raises(Conflict, match="agent one is connected"):
        await desk.token("one")
    desk.roster.watch(lambda: {"one": AgentSeen(connected=False, heartbeat_ms=START_MS)}, lambda _: None)
    assert await desk.token("one")


async def test_certificates_are_renewed_until_they_are_revoked(desk: Desk, tmp_path: Path) -> None:
    first, second, third = new_key(), new_key(), new_key()
    admission = await join(desk, await desk.token(), "one", first)
    desk.now_ms += AGENT_LASTS_MS // 2
    renewed = await renew(desk, admission, first, second)
    assert renewed.name == "one"
    assert identity_of(renewed.certificate.encode()) != identity_of(admission.certificate.encode())
    (tmp_path / "revoked").write_text("two\none\n")
    with pytest.raises(BadInput, match="agent one was revoked"):
        await renew(desk, renewed, second, third)
    with pytest.raises(Conflict, match="agent one was revoked"):
        await desk.token("one")
