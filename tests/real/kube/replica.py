"""A process that leads while it can: `python -m tests.real.kube.replica CLUSTER NAMESPACE IDENTITY FILE`.

Every moment in which it leads is a line of the file: the time, by a clock that all processes share.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from msgspec import json

from rota.kube.api.client import Client
from rota.kube.api.leader import Leader, LeaseTimes, since_boot_s
from tests.real.kube.cluster import Cluster

TIMES = LeaseTimes(length_s=3, given_up_after_s=2.0, retry_s=0.3)


async def serve(cluster: Cluster, namespace: str, identity: str, file: Path) -> None:
    async with Client(cluster.access()) as client:
        leader = Leader(client, namespace, "scheduler", identity, TIMES)
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_say(leader, file))
                while True:
                    await leader.lead()
                    await leader.hold()
        except asyncio.CancelledError:
            await leader.resign()


async def _say(leader: Leader, file: Path) -> None:
    with open(file, "w", buffering=1) as said:
        while True:
            # The moment before the question: if it leads after that, it led then.
            moment_s = since_boot_s()
            if leader.leads():
                print(f"{moment_s:.4f}", file=said)
            await asyncio.sleep(0.01)


if __name__ == "__main__":
    found = json.decode(Path(sys.argv[1]).read_bytes(), type=Cluster)
    asyncio.run(serve(found, sys.argv[2], sys.argv[3], Path(sys.argv[4])))
