"""How an agent reaches its server."""

from __future__ import annotations

from pathlib import Path

import grpc

from rota.trust import SERVER_NAME, agent_credentials
from rota.trust.folder import has_joined

_OPTIONS = (
    # Each channel has a connection of its own: heartbeats don't wait behind output.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 15_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    ("grpc.max_receive_message_length", 64 << 20),
)


_TO_WHOM = ("grpc.ssl_target_name_override", SERVER_NAME)
"""Certificates of servers name what they are, and not where."""


def credentials(folder: Path) -> grpc.ChannelCredentials | None:
    """None: it hasn't joined, and goes as who it says it is, to a server on this machine."""
    if not has_joined(folder):
        return None
    key, certificate, ca = agent_credentials(folder)
    return grpc.ssl_channel_credentials(ca, key, certificate)


def channel(target: str, proof: grpc.ChannelCredentials | None) -> grpc.Channel:
    """For a thread that waits."""
    if proof is None:
        return grpc.insecure_channel(target, options=_OPTIONS)
    return grpc.secure_channel(target, proof, options=(*_OPTIONS, _TO_WHOM))


def loop_channel(target: str, proof: grpc.ChannelCredentials | None) -> grpc.aio.Channel:
    """For the event loop."""
    if proof is None:
        return grpc.aio.insecure_channel(target, options=_OPTIONS)
    return grpc.aio.secure_channel(target, proof, options=(*_OPTIONS, _TO_WHOM))
