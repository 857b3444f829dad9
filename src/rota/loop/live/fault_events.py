"""Faults of plugins as events of a live cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from rota.control.access import SYSTEM
from rota.control.draft import Draft
from rota.control.transactor import Transactor
from rota.loop.hosting.fault_book import FaultTally


def publishing(transactor: Transactor) -> Callable[[FaultTally], Awaitable[None]]:
    async def publish(tally: FaultTally) -> None:
        """Of the job's project, if it is about one: its error may tell of the job."""
        fault = tally.latest
        state = transactor.memory.job(fault.job)
        data = {"call": fault.call, "error": fault.error, "job": fault.job, "count": tally.untold}

        def command(draft: Draft) -> None:
            project = None if state is None else state.spec.template.project
            draft.note("plugin.Failed", fault.plugin, SYSTEM, data, project)

        await transactor.do(command)

    return publish
