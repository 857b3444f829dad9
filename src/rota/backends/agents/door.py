"""Where agents knock, or others who speak gRPC: a service on a port, in the loop that is there."""

from __future__ import annotations

import grpc

from rota.backends.agents.service import AgentsService
from rota.wire.agents_pb2_grpc import add_AgentsServicer_to_server

LARGEST_MESSAGE_BYTES = 8 << 20
_GRACE_S = 0.5
_OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE_BYTES),
    # Two servers on one port would each get half of the agents.
    ("grpc.so_reuseport", 0),
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
)


class DoorError(Exception):
    """Why nobody can knock, and what to do."""


class GrpcDoor:
    """`guests`: who knocks there, and the option by which its address is given."""

    guests = "agents"

    def __init__(self, address: str, port: int, credentials: grpc.ServerCredentials | None = None) -> None:
        """Without credentials anybody who can dial is believed: for loopback addresses alone."""
        self._address = f"[{address}]" if ":" in address else address
        self._port = port
        self._credentials = credentials
        self._server = grpc.aio.server(options=_OPTIONS)

    @property
    def target(self) -> str:
        """What is dialled, with the port that was given out, where 0 was asked for."""
        return f"{self._address}:{self._port}"

    async def open(self) -> None:
        try:
            if self._credentials is None:
                self._port = self._server.add_insecure_port(self.target)
            else:
                self._port = self._server.add_secure_port(self.target, self._credentials)
        except RuntimeError as error:
            raise DoorError(
                f"{self.guests} can't be served at {self.target}: {error}; "
                f"give another address with --{self.guests}"
            ) from None
        await self._server.start()

    async def close(self) -> None:
        await self._server.stop(_GRACE_S)


class Door(GrpcDoor):
    def __init__(
        self,
        service: AgentsService,
        address: str,
        port: int,
        credentials: grpc.ServerCredentials | None = None,
    ) -> None:
        super().__init__(address, port, credentials)
        add_AgentsServicer_to_server(service, self._server)
