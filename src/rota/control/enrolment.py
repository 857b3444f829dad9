"""Agents come and go: invited with a token, admitted with a certificate, renewed, revoked.

Everything that changes is a command, kept in one transaction: a token admits one agent, whatever comes at the
same time or again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from rota.backends.roster import AgentSeen, Roster
from rota.control.access import Who
from rota.control.agent_admission import Addresses, checked, issue, no_invitation, not_admitted
from rota.control.draft import Draft
from rota.control.errors import Conflict, NotFound
from rota.control.transactor import Transactor
from rota.lifecycle.instructions import Instruction
from rota.model.ids import NodeName
from rota.store.writing.batch import Agent, AgentNode, Answer, Batch, IssuedCertificate, JoinToken, Removal
from rota.trust import Authority, Identity
from rota.trust.authority import check_agent_name
from rota.trust.enrol import RENEW_PATH, Admission
from rota.trust.join_token import LASTS_MS, JoinTokenText, is_proof, new_secret, proof_key, token_text
from rota.trust.keys import PublicKey, key_digest
from rota.trust.requests import caller_of, read_request


class Enrolment:
    def __init__(
        self,
        transactor: Transactor,
        authority: Authority,
        roster: Roster,
        addresses: Callable[[], Addresses],
    ) -> None:
        self._transactor = transactor
        self._memory = transactor.memory
        self._authority = authority
        self._addresses = addresses
        self._roster = roster
        roster.consult(lambda: self._memory.agents)

    def kept(self, batch: Batch, instructions: Sequence[Instruction]) -> None:
        for agent in batch.agents:
            if agent.revoked_ms is not None:
                self._roster.cut(agent.name)

    async def agents(self) -> Sequence[tuple[Agent, AgentSeen | None]]:
        """By name, with what is seen of each."""
        seen = self._roster.seen()
        return [(agent, seen.get(name)) for name, agent in sorted(self._memory.agents.items())]

    async def unproven(self) -> Mapping[str, AgentSeen]:
        """Those that attend without having joined: of the server's own user, on its own machine."""
        seen = self._roster.seen()
        return {name: seen[name] for name in sorted(seen.keys() - self._memory.agents.keys())}

    async def invite(
        self,
        name: str,
        node: AgentNode,
        who: Who,
        dry_run: bool = False,
        answer_of: Callable[[JoinToken], Answer] | None = None,
    ) -> tuple[JoinToken, str]:
        """The invitation, and its text: told this once, and kept by nobody."""
        new = new_secret()
        text = token_text(
            JoinTokenText(self._addresses().server, self._authority.fingerprint, new.id, new.secret)
        )
        if name:
            checked(lambda: check_agent_name(name))

        def command(draft: Draft) -> JoinToken:
            self._check_free(draft, name)
            _remove_stale(draft)
            token = JoinToken(
                new.id,
                proof_key(new.secret),
                who.user,
                draft.now_ms,
                draft.now_ms + LASTS_MS,
                name,
                node,
            )
            draft.batch.join_tokens.append(token)
            draft.note("agent.Invited", name or token.id, who.user, {"token": token.id, "pool": node.pool})
            if answer_of is not None:
                draft.batch.answers.append(answer_of(token))
            return token

        return await self._transactor.do(command, dry_run), text

    async def join(self, token_id: str, name: str, request: str, proof: str) -> Admission:
        """The same again for one that asks twice with the same key."""
        asked = checked(lambda: read_request(request))
        checked(lambda: check_agent_name(name))

        def command(draft: Draft) -> Admission:
            token = draft.join_token(token_id)
            if token is None or not is_proof(token.proof_key, asked.der, name, proof):
                raise no_invitation()
            if token.used_by:
                return self._given_before(draft, token, asked.key)
            if token.expires_ms <= draft.now_ms:
                raise no_invitation()
            agent_name = token.name or name
            self._check_free(draft, agent_name)
            issued = issue(self._authority, agent_name, asked.key, draft.now_ms)
            draft.batch.agents.append(Agent(agent_name, draft.now_ms, token.made_by, (issued,), token.node))
            draft.batch.join_tokens.append(replace(token, used_by=agent_name))
            about = {"token": token.id, "serial": issued.serial, "pool": token.node.pool}
            draft.note("agent.Admitted", agent_name, token.made_by, about)
            return self._admission(agent_name, issued)

        return await self._transactor.do(command)

    async def renew(self, header: str | None, body: bytes, request: str) -> Admission:
        """`header` and `body`: of the call, signed with the key of the certificate that is to be followed."""
        asked = checked(lambda: read_request(request))
        caller = self.caller(header, "POST", RENEW_PATH, body)

        def command(draft: Draft) -> Admission:
            agent = draft.agent(caller.name)
            if agent is None or agent.revoked_ms is not None:
                raise not_admitted(f"agent {caller.name} was revoked")
            latest = agent.certificates[-1]
            if latest.key_sha256 == key_digest(asked.key):
                return self._admission(agent.name, latest)
            issued = issue(self._authority, agent.name, asked.key, draft.now_ms)
            kept = [one for one in agent.certificates if one.serial == caller.serial]
            draft.batch.agents.append(replace(agent, certificates=(*kept, issued)))
            draft.note("agent.Renewed", agent.name, agent.name, {"serial": issued.serial})
            return self._admission(agent.name, issued)

        return await self._transactor.do(command)

    def caller(self, header: str | None, method: str, path: str, body: bytes) -> Identity:
        """The agent that signed a call, if it may still call. Raises BadInput."""
        now_ms = self._transactor.now_ms()
        caller = checked(lambda: caller_of(self._authority, header, method, path, body, now_ms))
        refusal = self._roster.refusal(caller)
        if refusal:
            raise not_admitted(refusal)
        return caller

    async def revoke(self, name: str, who: Who, dry_run: bool = False) -> None:
        """Its certificates count no more, and its connections are cut. It may join again with a token."""

        def command(draft: Draft) -> None:
            agent = draft.agent(name)
            if agent is None:
                raise NotFound("agent", name)
            if agent.revoked_ms is None:
                draft.batch.agents.append(replace(agent, revoked_ms=draft.now_ms, revoked_by=who.user))
                draft.note("agent.Revoked", name, who.user, {})

        await self._transactor.do(command, dry_run)

    def _check_free(self, draft: Draft, name: str) -> None:
        there = draft.agent(name)
        if there is not None and there.revoked_ms is None:
            raise Conflict(
                f"there is an agent {name} already",
                f"revoke it first with `rota agent revoke {name}`, or choose another name",
            )
        if there is None and self._memory.node(NodeName(name)) is not None:
            raise Conflict(f"a node is named {name} already", "choose another name")

    def _given_before(self, draft: Draft, token: JoinToken, key: PublicKey) -> Admission:
        agent = draft.agent(token.used_by)
        first = None if agent is None or agent.revoked_ms is not None else agent.certificates[0]
        if first is None or first.key_sha256 != key_digest(key):
            raise no_invitation()
        return self._admission(token.used_by, first)

    def _admission(self, name: str, issued: IssuedCertificate) -> Admission:
        return Admission(name, issued.pem, self._authority.pem.decode(), self._addresses().agents)


def _remove_stale(draft: Draft) -> None:
    """Invitations that nobody can use any more, and agents that can't come back."""
    memory, now_ms = draft.memory, draft.now_ms
    stale: Iterable[tuple[Removal, str]] = (
        *((Removal.JOIN_TOKEN, one.id) for one in memory.join_tokens.values() if one.expires_ms <= now_ms),
        *((Removal.AGENT, one.name) for one in memory.agents.values() if _is_gone(one, now_ms)),
    )
    draft.batch.removed.extend(stale)


def _is_gone(agent: Agent, now_ms: int) -> bool:
    return agent.revoked_ms is not None and all(one.expires_ms <= now_ms for one in agent.certificates)
