"""The client for event loops: the same calls, sent otherwise."""

import asyncio
import inspect
import pydoc
from collections.abc import Awaitable, Callable

import pytest

from rota.lifecycle.state import Phase
from rota.sdk.async_client import AsyncClient
from rota.sdk.client import Client
from rota.sdk.errors import BadAnswer, BadInput, JobFailed, NotFound, Unreachable, WaitTimeout
from rota.sdk.patience import Retries
from tests.unit.sdk.stand_in import TOKEN, Fault, StandIn

FAST = Retries(4, 0.001)


def ask(server: StandIn, question: Callable[[AsyncClient], Awaitable[None]]) -> None:
    async def main() -> None:
        async with AsyncClient(server.url, TOKEN, retries=FAST, stream_retries=FAST) as client:
            await question(client)

    asyncio.run(main())


def test_both_clients_have_the_same_methods() -> None:
    def methods(kind: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(member).parameters)
            for name, member in vars(kind).items()
            if callable(member) and not name.startswith("_")
        }

    asynchronous = methods(AsyncClient)
    del asynchronous["watch"]  # for the executor, which tells apart when a stream begins anew
    assert asynchronous == methods(Client)


def test_methods_say_what_they_take(server: StandIn) -> None:
    with Client(server.url, TOKEN) as client:
        assert list(inspect.signature(client.cancel).parameters) == ["job", "message", "dry_run"]
        assert client.cancel.__doc__ is not None
        assert "whether it waits or runs" in client.cancel.__doc__


def test_help_shows_them(server: StandIn) -> None:
    shown = pydoc.plain(pydoc.render_doc(Client))
    assert "cancel(self, job: 'str', *, message: 'str' = '', dry_run: 'bool' = False)" in shown
    # Newer versions of Python break the lines of long ones.
    assert " job_page(self, *, project" in " ".join(shown.replace("|", " ").split()).replace("( ", "(")
    with Client(server.url, TOKEN) as client:
        assert Client.me(client) == client.me()


@pytest.mark.slow
def test_running_and_waiting(server: StandIn) -> None:
    async def question(client: AsyncClient) -> None:
        assert (await client.run("true")).succeeded
        with pytest.raises(JobFailed, match="job 2 failed with status 1"):
            await client.run("false")
        [held] = (await client.submit({"command": ["true"], "hold": True})).jobs
        with pytest.raises(WaitTimeout):
            await client.wait(held.id, timeout_s=0.05)
        waiting = asyncio.create_task(client.wait(held.id))
        await asyncio.sleep(0.05)
        server.break_streams()
        await asyncio.sleep(0.05)
        server.finish(held.id, Phase.CANCELLED)
        assert (await waiting).phase is Phase.CANCELLED

    ask(server, question)


def test_lists_events_and_logs(server: StandIn) -> None:
    async def question(client: AsyncClient) -> None:
        [job] = (await client.submit({"command": ["echo", "hello"]})).jobs
        assert b"".join([chunk.data async for chunk in client.logs(job.id, follow=True)]) == b"hello\n"
        await client.submit({"command": ["true"], "hold": True, "array": 3})
        assert [one.id async for one in client.jobs(array="2", limit=2)] == ["2.2", "2.1", "2.0"]
        assert [one.seq async for one in client.events(after=1)][:2] == [2, 3]
        seqs = [one.seq async for one in client.events()]
        assert [one.seq async for one in client.events(last=2)] == seqs[-2:]
        events = client.events(follow=True, after=0)
        assert (await anext(events)).subject == job.id
        server.break_streams()
        assert (await anext(events)).seq == 2

    ask(server, question)


@pytest.mark.covers("job-6")
def test_what_may_pass_is_asked_again_and_never_done_twice(server: StandIn) -> None:
    async def question(client: AsyncClient) -> None:
        server.misbehave(Fault(503), Fault(0, after_the_deed=True))
        await client.submit({"command": ["true"]})
        assert list(server.jobs) == ["1"]
        assert len(set(server.keys)) == 1

    ask(server, question)


def test_errors(server: StandIn) -> None:
    async def question(client: AsyncClient) -> None:
        with pytest.raises(NotFound, match="there is no job 1%2F"):
            await client.job("1%2F")
        with pytest.raises(BadInput):
            await client.job("")
        server.misbehave(Fault(302, (("Location", "http://example.org/"),)))
        with pytest.raises(BadAnswer):
            await client.me()

    ask(server, question)


def test_nobody_there() -> None:
    with StandIn() as gone:
        pass

    async def question(client: AsyncClient) -> None:
        with pytest.raises(Unreachable, match=r"(?s)refused.*is `rota server` running"):
            await client.me()

    ask(gone, question)
