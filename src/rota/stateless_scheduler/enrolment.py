"""How agents get their certificates from a scheduler: as from a server, as far as one can who keeps nothing.

Invitations are known to the scheduler that made them, and to it alone: one that is started anew knows none,
so that each can be used once. Certificates need no memory: the authority has signed them.
"""

from __future__ import annotations

from collections.abc import Callable

from rota.control.access import Who
from rota.control.agent_admission import Addresses, checked, issue, no_invitation, not_admitted
from rota.control.errors import BadInput, Conflict
from rota.stateless_scheduler.authority import Vouched
from rota.store.writing.batch import AgentNode, Answer, IssuedCertificate, JoinToken
from rota.trust import Authority, Identity
from rota.trust.authority import check_agent_name
from rota.trust.enrol import RENEW_PATH, Admission
from rota.trust.join_token import LASTS_MS, JoinTokenText, is_proof, new_secret, proof_key, token_text
from rota.trust.keys import key_digest
from rota.trust.requests import caller_of, read_request


class SchedulerEnrolment:
    """`Invitations` of a scheduler, which keeps nothing."""

    def __init__(
        self,
        authority: Authority,
        roster: Vouched,
        clock: Callable[[], int],
    ) -> None:
        self.addresses = Addresses()
        """Known once all is served."""
        self._authority = authority
        self._roster = roster
        self._now_ms = clock
        self._invitations: dict[str, JoinToken] = {}
        self._issued: dict[str, IssuedCertificate] = {}
        """By invitation: an answer that was lost is given again."""

    async def invite(
        self,
        name: str,
        node: AgentNode,
        who: Who,
        dry_run: bool = False,
        answer_of: Callable[[JoinToken], Answer] | None = None,
    ) -> tuple[JoinToken, str]:
        if not name:
            raise BadInput(
                "name", "is missing: a scheduler has no list that would tell machines apart", "give --name"
            )
        checked(lambda: check_agent_name(name))
        if node != AgentNode():
            raise BadInput(
                "pool, labels, taints, price_per_hour",
                "a stateless scheduler stores nothing about its agents",
                "set them on the machine, in the agent's settings",
            )
        if refusal := self._roster.refusal(Identity(name, "")):
            raise Conflict(
                refusal, "choose another name: with this one the old certificate would count again"
            )
        seen = self._roster.seen().get(name)
        if seen is not None and seen.connected:
            raise Conflict(f"agent {name} is connected", "end it first, or choose another name")
        now_ms = self._now_ms()
        self._forget_stale(now_ms)
        new = new_secret()
        invitation = JoinToken(new.id, proof_key(new.secret), who.user, now_ms, now_ms + LASTS_MS, name)
        if not dry_run:
            self._invitations[new.id] = invitation
        url = self.addresses.server
        return invitation, token_text(JoinTokenText(url, self._authority.fingerprint, new.id, new.secret))

    async def join(self, token_id: str, name: str, request: str, proof: str) -> Admission:
        asked = checked(lambda: read_request(request))
        checked(lambda: check_agent_name(name))
        now_ms = self._now_ms()
        invitation = self._invitations.get(token_id)
        if (
            invitation is None
            or invitation.expires_ms <= now_ms
            or not is_proof(invitation.proof_key, asked.der, name, proof)
        ):
            raise no_invitation()
        issued = self._issued.get(token_id)
        if issued is None:
            issued = self._issued[token_id] = issue(self._authority, invitation.name, asked.key, now_ms)
        elif issued.key_sha256 != key_digest(asked.key):
            raise no_invitation()
        return self._admission(invitation.name, issued)

    async def renew(self, header: str | None, body: bytes, request: str) -> Admission:
        asked = checked(lambda: read_request(request))
        now_ms = self._now_ms()
        caller = checked(lambda: caller_of(self._authority, header, "POST", RENEW_PATH, body, now_ms))
        if refusal := self._roster.refusal(caller):
            raise not_admitted(refusal)
        return self._admission(caller.name, issue(self._authority, caller.name, asked.key, now_ms))

    async def revoke(self, name: str, who: Who, dry_run: bool = False) -> None:
        raise Conflict(
            "a scheduler couldn't remember it",
            f"write {name} on a line of its own into the file `revoked` of its authority",
        )

    def _admission(self, name: str, issued: IssuedCertificate) -> Admission:
        return Admission(name, issued.pem, self._authority.pem.decode(), self.addresses.agents)

    def _forget_stale(self, now_ms: int) -> None:
        for one in [one for one in self._invitations.values() if one.expires_ms <= now_ms]:
            del self._invitations[one.id]
            self._issued.pop(one.id, None)
