"""Binds pods to nodes that are told it, as fast as our client can: what is left when nothing is decided.

`python -m bench.null_binder KUBECONFIG`: a line of JSON with namespace, pods and nodes begins it.
"""

from __future__ import annotations

import asyncio
import sys

from msgspec import Struct, json

from rota.kube.api.client import Client
from rota.kube.api.config import find_cluster


class Pairs(Struct):
    namespace: str
    nodes: dict[str, str]
    """By pod."""


async def bind_all(kubeconfig: str, line: bytes) -> None:
    pairs = json.decode(line, type=Pairs)
    async with Client(find_cluster(kubeconfig)) as client:
        await asyncio.gather(*(client.bind(pairs.namespace, pod, node) for pod, node in pairs.nodes.items()))


if __name__ == "__main__":
    print("ready", flush=True)
    asyncio.run(bind_all(sys.argv[1], sys.stdin.buffer.readline()))
