"""Agents are admitted once for each invitation, renewed by their own key, and revoked for good."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rota.api.people import Role
from rota.backends.roster import Roster
from rota.control.access import Who
from rota.control.agent_admission import Addresses
from rota.control.enrolment import Enrolment
from rota.control.errors import BadInput, Conflict, NotFound
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.control.transactor import Transactor
from rota.model.ids import NodeName
from rota.model.node import Node, NodeSpec
from rota.model.policy import Policy
from rota.model.resources import Resources
from rota.store.store import Store, open_store
from rota.store.writing.batch import AgentNode
from rota.trust import Authority, identity_of
from rota.trust.authority import AGENT_LASTS_MS, read_certificate
from rota.trust.enrol import Admission
from rota.trust.join_token import LASTS_MS, read_token_text
from rota.trust.keys import PrivateKey, new_key
from tests.unit.control import joiner

pytestmark = pytest.mark.covers("ops-2")

START_MS = 1_800_000_000_000
ADA = Who("ada", Role.OPERATOR)
AUTHORITY = Authority.create(START_MS)
GPU = AgentNode("gpu", (("zone", "a"),))


class Cluster:
    def __init__(self, store: Store, transactor: Transactor, now_ms: list[int]) -> None:
        self.store = store
        self.transactor = transactor
        self.roster = Roster()
        self.cut: list[str] = []
        self.roster.watch(dict, self.cut.append)
        self.enrolment = Enrolment(
            transactor, AUTHORITY, self.roster, lambda: Addresses("https://rota.example.org", "rota:8427")
        )
        transactor.follow(self.enrolment)
        self._now_ms = now_ms

    def later(self, by_ms: int) -> None:
        self._now_ms[0] += by_ms

    async def invite(self, name: str = "", node: AgentNode = GPU) -> str:
        return (await self.enrolment.invite(name, node, ADA))[1]

    async def join(
        self, token: str, name: str = "gpu-1", key: PrivateKey | None = None, proof: str | None = None
    ) -> Admission:
        return await joiner.join(self.enrolment, token, name, key, proof)

    async def renew(self, admission: Admission, key: PrivateKey, following: PrivateKey) -> Admission:
        return await joiner.renew(self.enrolment, admission, key, following)

    def refusal(self, admission: Admission) -> str:
        return self.roster.refusal(identity_of(admission.certificate.encode()))

    def kinds(self) -> list[str]:
        return [event.row.kind for event in self.store.events(0)]


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Cluster]:
    now_ms = [START_MS]
    with open_store(f"sqlite:///{path}/rota.db") as store:
        memory = Memory(Policy())
        memory.load(store.load())
        transactor = Transactor(store, memory, Feed(store, 0), lambda: now_ms[0], lambda: 0.5)
        running = asyncio.create_task(transactor.run())
        try:
            yield Cluster(store, transactor, now_ms)
        finally:
            await transactor.stop()
            await running
            await transactor.close()


async def test_who_is_invited_joins(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        token = await cluster.invite()
        assert read_token_text(token).url == "https://rota.example.org"
        assert read_token_text(token).authority_sha256 == AUTHORITY.fingerprint
        admission = await cluster.join(token)
        assert (admission.name, admission.agents_address) == ("gpu-1", "rota:8427")
        assert admission.authority == AUTHORITY.pem.decode()
        assert AUTHORITY.identify(read_certificate(admission.certificate.encode()), START_MS).name == "gpu-1"
        assert cluster.refusal(admission) == ""
        [agent] = cluster.store.load().agents
        assert (agent.name, agent.invited_by, agent.node) == ("gpu-1", "ada", GPU)
        assert cluster.kinds() == ["agent.Invited", "agent.Admitted"]


async def test_no_secret_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        token = await cluster.invite()
        secret = read_token_text(token).secret
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert secret not in kept
        assert secret.hex().encode() not in kept
        assert token.encode() not in kept


async def test_a_token_admits_one_agent_however_many_come_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        token = await cluster.invite()
        came = await asyncio.gather(
            *(cluster.join(token, f"gpu-{number}") for number in range(5)), return_exceptions=True
        )
        assert sum(isinstance(one, Admission) for one in came) == 1
        assert [str(one) for one in came if not isinstance(one, Admission)] == [
            "no such invitation: it is used, has expired, or the proof isn't made with its secret"
        ] * 4
        assert len(cluster.store.load().agents) == 1


async def test_who_asks_again_with_the_same_key_gets_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        token, key = await cluster.invite(), new_key()
        first = await cluster.join(token, key=key)
        cluster.later(LASTS_MS)
        assert await cluster.join(token, key=key) == first
        await cluster.enrolment.revoke("gpu-1", ADA)
        with pytest.raises(BadInput, match="no such invitation"):
            await cluster.join(token, key=key)


async def test_tokens_expire(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        token, other = await cluster.invite(), await cluster.invite()
        cluster.later(LASTS_MS - 1)
        await cluster.join(token)
        cluster.later(1)
        with pytest.raises(BadInput, match="no such invitation") as told:
            await cluster.join(other, "gpu-2")
        assert (told.value.field, told.value.help) == ("token", "make another with `rota agent token`")
        await cluster.invite()
        assert len(cluster.store.load().join_tokens) == 1


@pytest.mark.parametrize("proof", ["", "00", "f" * 64, "ü"])
async def test_without_the_secret_nobody_joins(tmp_path: Path, proof: str) -> None:
    async with opened(tmp_path) as cluster:
        token = await cluster.invite()
        with pytest.raises(BadInput, match="no such invitation"):
            await cluster.join(token, proof=proof)
        assert cluster.store.load().agents == []
        await cluster.join(token)


async def test_the_invitation_may_say_the_name(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        assert (await cluster.join(await cluster.invite("gpu-7"), "some-host")).name == "gpu-7"


@pytest.mark.parametrize("name", ["a b", "-x"])
async def test_bad_names_are_refused(tmp_path: Path, name: str) -> None:
    async with opened(tmp_path) as cluster:
        with pytest.raises(BadInput, match="not a name for an agent"):
            await cluster.join(await cluster.invite(), name)
        with pytest.raises(BadInput, match="not a name for an agent"):
            await cluster.invite(name)


async def test_nobody_takes_the_name_of_another(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        first = await cluster.join(await cluster.invite())
        with pytest.raises(Conflict, match="there is an agent gpu-1 already"):
            await cluster.join(await cluster.invite())
        with pytest.raises(Conflict, match="there is an agent gpu-1 already"):
            await cluster.invite("gpu-1")
        cluster.transactor.memory.set_nodes([Node(NodeName("desk"), NodeSpec(Resources()))])
        with pytest.raises(Conflict, match="a node is named desk already"):
            await cluster.join(await cluster.invite(), "desk")
        assert cluster.refusal(first) == ""


async def test_who_was_revoked_is_cut_off_and_may_be_invited_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        first = await cluster.join(await cluster.invite())
        await cluster.enrolment.revoke("gpu-1", ADA, dry_run=True)
        assert cluster.refusal(first) == ""
        await cluster.enrolment.revoke("gpu-1", ADA)
        await cluster.enrolment.revoke("gpu-1", ADA)
        assert cluster.refusal(first) == "agent gpu-1 was revoked"
        assert cluster.cut == ["gpu-1"]
        assert cluster.kinds().count("agent.Revoked") == 1
        second = await cluster.join(await cluster.invite())
        assert cluster.refusal(second) == ""
        assert cluster.refusal(first) == "agent gpu-1 has another certificate by now"
        with pytest.raises(NotFound):
            await cluster.enrolment.revoke("gpu-2", ADA)


async def test_nobody_has_joined_that_nobody_knows(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        stranger = AUTHORITY.certify_agent("gpu-9", new_key().public_key(), START_MS)
        identity = AUTHORITY.identify(stranger, START_MS)
        assert cluster.roster.refusal(identity) == "no agent gpu-9 has joined"


async def test_an_agent_renews_with_its_own_key(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        keys = [new_key() for _ in range(3)]
        first = await cluster.join(await cluster.invite(), key=keys[0])
        cluster.later(AGENT_LASTS_MS * 2 // 3)
        second = await cluster.renew(first, keys[0], keys[1])
        assert await cluster.renew(first, keys[0], keys[1]) == second
        assert (cluster.refusal(first), cluster.refusal(second)) == ("", "")
        cluster.later(AGENT_LASTS_MS * 2 // 3)
        third = await cluster.renew(second, keys[1], keys[2])
        assert cluster.refusal(first) == "agent gpu-1 has another certificate by now"
        assert (cluster.refusal(second), cluster.refusal(third)) == ("", "")
        assert cluster.kinds().count("agent.Renewed") == 2
        with pytest.raises(BadInput, match="has expired"):
            await cluster.renew(first, keys[0], new_key())


async def test_nobody_else_renews(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        key = new_key()
        admission = await cluster.join(await cluster.invite(), key=key)
        with pytest.raises(BadInput, match="the signature is wrong"):
            await cluster.renew(admission, new_key(), new_key())
        await cluster.enrolment.revoke("gpu-1", ADA)
        with pytest.raises(BadInput, match="was revoked"):
            await cluster.renew(admission, key, new_key())
        assert cluster.kinds().count("agent.Renewed") == 0


async def test_what_can_never_come_back_is_forgotten(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        await cluster.join(await cluster.invite())
        await cluster.join(await cluster.invite(), "gpu-2")
        await cluster.enrolment.revoke("gpu-1", ADA)
        cluster.later(AGENT_LASTS_MS)
        await cluster.invite("gpu-3")
        assert [agent.name for agent in cluster.store.load().agents] == ["gpu-2"]
        assert [agent.name for agent, _ in await cluster.enrolment.agents()] == ["gpu-2"]


@pytest.mark.parametrize(
    "url, agents",
    [
        ("https://rota.example.org:8426", "rota.example.org:8427"),
        ("http://127.0.0.1:8426", "127.0.0.1:8427"),
        ("https://[::1]:8426", "[::1]:8427"),
    ],
)
def test_where_agents_dial_on_the_host_of_a_url(url: str, agents: str) -> None:
    assert Addresses.on_one_host(url, "8427") == (url, agents)
