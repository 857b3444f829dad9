"""With every word of an agent it is looked at whether it still may speak, and this server still leads."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from rota.model.ids import NodeName
from rota.wire import agents_pb2 as wire
from tests.backends.witness import ref
from tests.real.agents.caller import calling, hello, node
from tests.real.agents.stand import stand, task

pytestmark = [pytest.mark.slow, pytest.mark.covers("agent-6", "ops-2")]

HEARTBEAT = wire.AgentNews(heartbeat=wire.Heartbeat(number=1, node=node()))


async def test_who_is_revoked_gets_no_heartbeat_acknowledged(tmp_path: Path) -> None:
    async with stand(tmp_path) as here, calling(here.backend.target) as caller:
        attending = await caller.attend(hello("gone"))
        here.backend.refusal = "agent gone was revoked"
        await attending.write(HEARTBEAT)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await caller.hear(attending)
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        notice = await here.notice("agent.Refused")
        assert (notice.agent, "was revoked" in str(notice.data["why"])) == ("gone", True)
        with pytest.raises(grpc.aio.AioRpcError):
            await caller.attend(hello("gone"))


async def test_one_that_is_cut_off_can_say_no_more_by_any_way(tmp_path: Path) -> None:
    async with stand(tmp_path) as here, calling(here.backend.target) as caller:
        attending = await caller.attend(hello("gone"))
        await here.backend.start([task("1", "gone")])
        await caller.hear(attending)
        performing, _ = await caller.perform(ref("1"), kept=False)
        here.backend.cut("gone")
        assert await caller.hear(attending) is grpc.aio.EOF
        assert await caller.hear(performing) is grpc.aio.EOF
        call, _ = await caller.perform(ref("1"))
        assert (await caller.refused(call))[0] is grpc.StatusCode.UNAUTHENTICATED
        assert here.reports == []


async def test_a_server_that_may_not_lead_any_more_welcomes_and_acknowledges_nobody(tmp_path: Path) -> None:
    async with stand(tmp_path) as here, calling(here.backend.target) as caller:
        attending = await caller.attend(hello("a"))
        await here.backend.start([task("1", "a")])
        await caller.hear(attending)
        performing, _ = await caller.perform(ref("1"), kept=False)
        here.backend.leads = False
        await performing.write(wire.TaskNews(started=wire.Started(at_ms=1)))
        await attending.write(HEARTBEAT)
        for call in (attending, performing):
            assert (await caller.refused(call))[0] is grpc.StatusCode.UNAVAILABLE
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await caller.attend(hello("late"))
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert [one.name for one in await here.backend.nodes()] == ["a"]
        assert here.reports == []
        here.backend.leads = True
        again = await caller.attend(hello("a", ref("1")))
        performing, _ = await caller.perform(ref("1"))
        await performing.write(wire.TaskNews(started=wire.Started(at_ms=1)))
        await here.started(ref("1"))
        await here.backend.has_ready(NodeName("a"))
        again.cancel()
