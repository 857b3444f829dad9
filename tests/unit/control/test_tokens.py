"""Tokens go with those that they were made with, are bounded in number, and don't pile up."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from rota.api.people import Role
from rota.control.access import Who
from rota.control.draft import Draft
from rota.control.errors import Conflict
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.control.tokens import EXPIRED_KEPT_MS, check_token, forget_old_tokens, with_descendants
from rota.control.transactor import Transactor
from rota.loop.desk.people import PeopleDesk
from rota.model.policy import Policy
from rota.store.records import decoded
from rota.store.store import Store, open_store
from rota.store.writing.batch import Batch, Project, Removal, Token

pytestmark = pytest.mark.covers("trust-3")

NOW_MS = 10 * EXPIRED_KEPT_MS


def token(token_id: str, parent: str = "", expires_ms: int | None = None, user: str = "ada") -> Token:
    return Token(token_id, f"hash of {token_id}", user, Role.VIEWER, None, 0, expires_ms, parent)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/rota.db") as opened:
        yield opened


def transactor(store: Store) -> Transactor:
    loaded = store.load()
    memory = Memory(Policy())
    memory.load(loaded)
    return Transactor(store, memory, Feed(store, loaded.last_seq), lambda: NOW_MS, lambda: 0.5)


def running(store: Store, work: Callable[[Transactor], Awaitable[None]]) -> None:
    async def run() -> None:
        control = transactor(store)
        loop = asyncio.create_task(control.run())
        try:
            await work(control)
        finally:
            await control.stop()
            await loop
            await control.close()

    asyncio.run(run())


def test_descendants_go_with_their_token() -> None:
    tokens = [token("c", "b"), token("b", "a"), token("a"), token("x"), token("y", "x"), token("d", "b")]
    assert with_descendants("a", tokens) == ["a", "b", "c", "d"]
    assert with_descendants("b", tokens) == ["b", "c", "d"]
    assert with_descendants("c", tokens) == ["c"]
    assert with_descendants("gone", tokens) == []


def session(token_id: str, created_ms: int, user: str = "ada") -> Token:
    return Token(token_id, f"hash of {token_id}", user, Role.VIEWER, None, created_ms, browser=True)


def test_the_oldest_sessions_make_room(store: Store) -> None:
    """Tokens and sessions of others stay, and tokens don't count."""
    kept = [session("s2", 2), session("s1", 1), session("theirs", 0, "bob"), token("t", "s1"), token("u")]
    store.commit(Batch(tokens=kept))

    async def work(control: Transactor) -> None:
        people, who = PeopleDesk(control), Who("ada", Role.VIEWER)
        await people.add_token(session("s3", 3), who, most=3)
        assert set(control.memory.tokens_by_id) == {"s1", "s2", "s3", "t", "u", "theirs"}
        await people.add_token(session("s4", 4), who, most=2)
        # What was made in a session ends with it.
        assert set(control.memory.tokens_by_id) == {"s3", "s4", "u", "theirs"}

    running(store, work)


def test_sessions_take_no_places_of_tokens(store: Store) -> None:
    store.commit(Batch(tokens=[session("s1", 1), session("s2", 2)]))

    async def work(control: Transactor) -> None:
        await PeopleDesk(control).add_token(token("t"), Who("ada", Role.VIEWER), most=1)

    running(store, work)


def test_a_user_has_so_many_and_no_more(store: Store) -> None:
    """Also if they are asked for at once. Those that have expired, and those of others, don't count."""
    store.commit(Batch(tokens=[token("old", expires_ms=NOW_MS), token("theirs", user="bob")]))

    async def work(control: Transactor) -> None:
        def adding(name: str) -> Callable[[Draft], None]:
            def command(draft: Draft) -> None:
                check_token(draft, token(name), 3)
                draft.batch.tokens.append(token(name))

            return command

        asked = [control.do(adding(f"t{at}")) for at in range(5)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(one) for one in answers] == [type(None)] * 3 + [Conflict] * 2

    running(store, work)


def test_a_token_whose_parent_was_just_removed_is_not_made(store: Store) -> None:
    async def work(control: Transactor) -> None:
        with pytest.raises(Conflict, match="was removed"):
            await control.do(lambda draft: check_token(draft, token("child", "gone"), None))

    running(store, work)


def test_what_expired_long_ago_or_lost_its_parent_is_forgotten(store: Store) -> None:
    long_ago = NOW_MS - EXPIRED_KEPT_MS
    store.commit(
        Batch(
            tokens=[
                token("kept"),
                token("child", "kept"),
                token("lately", expires_ms=long_ago + 1),
                token("old", expires_ms=long_ago),
                token("orphan", "gone"),
            ]
        )
    )

    async def work(control: Transactor) -> None:
        await forget_old_tokens(control, NOW_MS)
        assert set(control.memory.tokens_by_id) == {"kept", "child", "lately"}
        assert {one.id for one in control.memory.tokens.values()} == {"kept", "child", "lately"}

    running(store, work)
    assert {one.id for one in store.load().tokens} == {"kept", "child", "lately"}
    assert [one.row.kind for one in store.events(0)] == ["token.Forgotten"] * 2


def test_what_can_take_a_right_away_counts_up(store: Store) -> None:
    memory = transactor(store).memory
    seen = [memory.rights_version]
    for batch in (
        Batch(projects=[Project("vision", "", 0)]),
        Batch(tokens=[token("a")]),
        Batch(removed=[(Removal.TOKEN, "a")]),
        Batch(removed=[(Removal.PROJECT, "vision")]),
    ):
        memory.absorb(batch)
        seen.append(memory.rights_version)
    memory.reload(store.load(), now_ms=0)
    seen.append(memory.rights_version)
    assert [after > before for before, after in itertools.pairwise(seen)] == [
        True,
        False,
        True,
        True,
        True,
    ]


def test_tokens_of_older_databases_have_no_parent() -> None:
    older = (
        b'{"id":"a","secret_sha256":"hash of a","user":"ada","role":"viewer","projects":null,"created_ms":0}'
    )
    assert decoded([older], Token) == [token("a")]
