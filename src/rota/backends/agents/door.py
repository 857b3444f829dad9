"""Where agents knock, or others who speak gRPC: a service on a port, in the loop that is there."""

from __future__ import annotations

from typing import NamedTuple, overload

import grpc

from rota.backends.agents.service import AgentsService
from rota.trust.local_socket import LocalSocket, local_address
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


class Place(NamedTuple):
    """Where a service is reached by others."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class DoorError(Exception):
    """Why nobody can knock, and what to do."""


class GrpcDoor:
    """`guests`: who knocks there, and the option by which its address is given."""

    guests = "agents"

    def __init__(self, place: Place | LocalSocket, credentials: grpc.ServerCredentials | None = None) -> None:
        """Without credentials, those who dial a place have to prove who they are by what they say."""
        self._place = place
        self._credentials = credentials
        self._server = grpc.aio.server(options=_OPTIONS)

    @property
    def target(self) -> str:
        """What is dialled, with the port that was given out, where 0 was asked for."""
        return local_address(self._place.path) if isinstance(self._place, LocalSocket) else str(self._place)

    async def open(self) -> None:
        place = self._place
        try:
            if isinstance(place, LocalSocket):
                self._server.add_insecure_port(place.target)
            elif self._credentials is None:
                self._place = Place(place.host, self._server.add_insecure_port(str(place)))
            else:
                port = self._server.add_secure_port(str(place), self._credentials)
                self._place = Place(place.host, port)
        except RuntimeError as error:
            raise DoorError(
                f"{self.guests} can't be served at {self.target}: {error}; "
                f"give another address with --{self.guests}"
            ) from None
        await self._server.start()

    async def close(self) -> None:
        await self._server.stop(_GRACE_S)
        if isinstance(self._place, LocalSocket):
            self._place.close()


class Door(GrpcDoor):
    @overload
    def __init__(self, service: AgentsService, place: LocalSocket) -> None: ...

    @overload
    def __init__(self, service: AgentsService, place: Place, credentials: grpc.ServerCredentials) -> None: ...

    def __init__(
        self,
        service: AgentsService,
        place: Place | LocalSocket,
        credentials: grpc.ServerCredentials | None = None,
    ) -> None:
        """Agents get other people's work: whoever can merely dial is never one."""
        assert (credentials is None) == isinstance(place, LocalSocket)
        super().__init__(place, credentials)
        add_AgentsServicer_to_server(service, self._server)
