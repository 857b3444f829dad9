"""Which application answers: a leader's only while it is sure to lead."""

from __future__ import annotations

from typing import Any

from litestar.types import ASGIApp, Receive, Scope, Send

from rota.server.leading.replica import Stage


def saying(what: str, said: list[str]) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        said.append(what)

    return app


async def test_it_is_asked_anew_for_every_request() -> None:
    said: list[str] = []
    is_sure = True
    stage = Stage(saying("standby", said))

    async def ask() -> None:
        nothing: Any = None
        await stage(nothing, nothing, nothing)

    await ask()
    stage.lead(saying("leader", said), lambda: is_sure)
    await ask()
    is_sure = False
    await ask()
    is_sure = True
    await ask()
    stage.clear()
    await ask()
    assert said == ["standby", "leader", "standby", "leader", "standby"]
