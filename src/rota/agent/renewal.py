"""A certificate in time: asked for when a third of the old one's life is left."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import structlog

from rota.clock import now_ms
from rota.trust import TrustError
from rota.trust.enrol import renew
from rota.trust.folder import has_joined, read_identity

log = structlog.get_logger()

_LOOK_S = 3600.0


async def renewed(folder: Path, attended: Callable[[], str], look_s: float = _LOOK_S) -> None:
    """Returns once there is a new certificate; never, for one that hasn't joined. `attended`: the URL of the
    server that it works for at the moment; empty: none."""
    if not has_joined(folder):
        await asyncio.Event().wait()
    while True:
        try:
            identity = await asyncio.to_thread(read_identity, folder)
            if identity.is_due(now_ms()):
                await asyncio.to_thread(renew, folder, attended())
                log.info("agent.certificate_renewed", agent=identity.name)
                return
        except (TrustError, OSError) as error:
            log.warning("agent.certificate_not_renewed", why=str(error))
        # Not all agents at once: many joined in the same hour.
        await asyncio.sleep(look_s * random.uniform(0.5, 1.5))
