"""One server leads: by the database's clock, and no write of another is ever kept beside its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from rota.model.ids import JobId
from rota.store.errors import StoreFenced, StoreRefused, StoreUnavailable
from rota.store.sql.leases import Claim, Leadership
from rota.store.store import Store, open_store
from rota.store.writing.batch import Batch
from tests.real.server.rota_server import eventually
from tests.stored import event, job, keep

LONG_MS = 60_000
ONE = Claim("rota", "one", "https://one.example.org:8426", "aa")
OTHER = Claim("rota", "other", "https://other.example.org:8426")


@pytest.fixture
def stores(postgres_url: str) -> Iterator[tuple[Store, Store]]:
    with open_store(postgres_url) as one, open_store(postgres_url) as other:
        yield one, other


def led(store: Store, claim: Claim, ttl_ms: int = LONG_MS) -> Leadership:
    leadership = store.leases.lead(claim, ttl_ms)
    assert leadership is not None
    return leadership


def test_one_leads_until_it_resigns(stores: tuple[Store, Store]) -> None:
    one, other = stores
    first = led(one, ONE)
    assert other.leases.lead(OTHER, LONG_MS) is None
    assert one.leases.renew(first, LONG_MS)
    one.leases.resign(first)
    second = led(other, OTHER)
    assert second.token > first.token
    assert not one.leases.renew(first, LONG_MS)
    one.leases.resign(first)  # Too late to matter.
    assert one.leases.lead(ONE, LONG_MS) is None


def test_a_lease_that_has_ended_is_for_whoever_comes(stores: tuple[Store, Store]) -> None:
    one, other = stores
    led(one, ONE, ttl_ms=1)
    eventually(lambda: other.leases.lead(OTHER, LONG_MS), "the lease to end")


def test_one_that_has_ended_and_nobody_took_goes_on(stores: tuple[Store, Store]) -> None:
    one, other = stores
    leadership = led(one, ONE, ttl_ms=1)
    time.sleep(0.01)
    assert one.leases.renew(leadership, LONG_MS)
    assert other.leases.lead(OTHER, LONG_MS) is None


def test_a_server_that_comes_back_leads_at_once_and_its_past_self_does_not(
    stores: tuple[Store, Store],
) -> None:
    past, present = stores
    before = led(past, ONE)
    after = led(present, ONE)
    assert after.token > before.token
    assert not past.leases.renew(before, LONG_MS)
    with pytest.raises(StoreFenced):
        keep(past, job("1"))


def test_others_see_who_leads(stores: tuple[Store, Store]) -> None:
    one, other = stores
    assert other.leases.leader("rota") is None
    leadership = led(one, ONE)
    seen = other.leases.leader("rota")
    assert seen is not None
    assert (seen.holder, seen.address, seen.certificate_sha256) == ("one", ONE.address, "aa")
    assert 0 < seen.left_ms <= LONG_MS
    one.leases.resign(leadership)
    seen = other.leases.leader("rota")
    assert seen is not None
    assert seen.left_ms <= 0


def test_names_are_leases_of_their_own(stores: tuple[Store, Store]) -> None:
    one, other = stores
    led(one, ONE)
    assert led(other, Claim("another", "other")).token == 1


def test_nothing_of_who_no_longer_leads_is_kept(stores: tuple[Store, Store]) -> None:
    one, other = stores
    one.leases.resign(led(one, ONE))
    keep(one, job("1", phase="succeeded"))  # Nobody else leads yet.
    led(other, OTHER)
    keep(other, job("2"))
    for write in (
        lambda: keep(one, job("3")),
        lambda: one.commit(Batch(events=[event("job.Held", "2")])),
        lambda: one.numbers.allocate(1),
        lambda: one.forget([JobId("1")]),
        lambda: one.forget_events(10**15),
        lambda: one.forget_answers(10**15),
    ):
        with pytest.raises(StoreFenced, match="another server leads now"):
            write()
    assert sorted(state.id for state in other.load().jobs) == ["2"]
    assert other.events(0) == []
    assert other.job(JobId("1")) is not None
    assert [state.id for state in one.load().jobs] == ["2"]  # Reading is for all.


def test_nobody_takes_over_in_the_middle_of_a_commit(stores: tuple[Store, Store]) -> None:
    one, other = stores
    led(one, ONE, ttl_ms=1)
    time.sleep(0.01)
    within, go_on = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with one.connections.write():
            within.set()
            assert go_on.wait(20)

    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(write_slowly)
        assert within.wait(20)
        taking = threads.submit(other.leases.lead, OTHER, LONG_MS)
        with pytest.raises(TimeoutError):
            taking.result(0.3)
        go_on.set()
        writing.result(20)
        assert taking.result(20) is not None


@pytest.mark.slow
def test_a_server_that_is_frozen_in_a_commit_does_not_keep_others_from_leading(
    stores: tuple[Store, Store],
) -> None:
    one, other = stores
    led(one, ONE, ttl_ms=1)
    time.sleep(0.01)

    def freeze() -> None:
        with one.connections.write() as connection:
            assert other.leases.lead(OTHER, LONG_MS) is not None
            connection.exec_driver_sql("SELECT 1")

    with pytest.raises(StoreUnavailable):
        freeze()
    with pytest.raises(StoreFenced):
        keep(one, job("1"))


def test_many_that_ask_at_once_get_one_leader(postgres_url: str) -> None:
    stores = [open_store(postgres_url) for _ in range(6)]
    with ThreadPoolExecutor(6) as threads:
        for _ in range(10):
            asked = [
                threads.submit(store.leases.lead, Claim("rota", str(at)), LONG_MS)
                for at, store in enumerate(stores)
            ]
            leaders = [at for at, one in enumerate(asked) if one.result(20) is not None]
            assert len(leaders) == 1
            [leader] = leaders
            leadership = asked[leader].result()
            assert leadership is not None
            stores[leader].leases.resign(leadership)
    for store in stores:
        store.close()


def test_servers_that_start_at_once_migrate_once(postgres_url: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        stores = list(threads.map(open_store, [postgres_url] * 6))
        made = list(
            threads.map(lambda at: stores[at].authority(lambda: f"authority {at}".encode()), range(6))
        )
    assert len(set(made)) == 1
    for store in stores:
        store.close()


def test_an_sqlite_database_has_one_server(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/rota.db") as store:
        assert not store.leases.is_shared
        with pytest.raises(StoreRefused, match="use PostgreSQL for several"):
            store.leases.lead(ONE, LONG_MS)


def test_a_database_that_is_gone_is_told_to_who_renews(
    stores: tuple[Store, Store], postgres_url: str
) -> None:
    one, _ = stores
    leadership = led(one, ONE)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert one.leases.renew(leadership, LONG_MS)  # Connected anew.
