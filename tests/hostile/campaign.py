"""One campaign against one server: so many inputs, or so long, and what came of them."""

from __future__ import annotations

import http.client
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from time import monotonic
from urllib.parse import urlsplit

import grpc
from msgspec import Struct, field

from rota.api.people import Role
from tests.hostile.readers import a_file
from tests.hostile.requests import Request, a_request
from tests.hostile.watch import Watch
from tests.hostile.words import a_speech, say
from tests.real.server.rota_server import RotaServer

LONGEST_SILENCE_S = 0.25
MOST_GROWTH_BYTES = 200 << 20
LOOK_EVERY = 200
ANSWER_S = 30
_UNWANTED_CODES = frozenset(("INTERNAL", "UNKNOWN"))
_SHARES = {"rest": 70, "readers": 25, "grpc": 5}


class Outcome(Struct):
    inputs: Counter[str] = field(default_factory=Counter)
    """By kind."""
    answers: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    longest_silence_s: float = 0.0
    grown_bytes: int = 0
    slowest_reader_s: float = 0.0

    def table(self) -> Iterator[str]:
        yield f"{sum(self.inputs.values()):,} inputs"
        for kind, count in sorted(self.inputs.items()):
            yield f"  {kind:<12}{count:>8,}"
        yield "answers"
        for answer, count in sorted(self.answers.items()):
            yield f"  {answer:<12}{count:>8,}"
        yield f"longest silence of the loop  {1000 * self.longest_silence_s:.0f} ms"
        yield f"growth of the server         {self.grown_bytes / 2**20:.0f} MiB"
        yield f"slowest file, CPU            {self.slowest_reader_s:.2f} s"

    def complaints(self) -> list[str]:
        found = list(self.faults)
        if self.longest_silence_s > LONGEST_SILENCE_S:
            found.append(f"the loop was silent for {self.longest_silence_s:.3f} s")
        if self.grown_bytes > MOST_GROWTH_BYTES:
            found.append(f"the server grew by {self.grown_bytes >> 20} MiB")
        return found


class Campaign:
    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._seed = seed
        self._server = RotaServer(folder / "server", "--agents", f"unix:{folder}/door/agents.sock")
        self._connection: http.client.HTTPConnection | None = None
        self.outcome = Outcome()

    def run(self, inputs: int, seconds: float) -> Outcome:
        """Until either is reached."""
        files = self._folder / "files"
        files.mkdir()
        self._server.start()
        try:
            self._server.client.set_project("vision", members={"bob": Role.VIEWER})
            tokens: dict[str, str] = {}
            watch = Watch(self._server)
            with self._channel() as channel:
                until_s = monotonic() + seconds
                for number in range(inputs):
                    if monotonic() >= until_s:
                        break
                    if number % LOOK_EVERY == 0:
                        watch.look()
                        self._make_missing(tokens)
                    self._one(number, tokens, files, channel)
                watch.look()
            self.outcome.longest_silence_s = watch.longest_silence_s
            self.outcome.grown_bytes = watch.grown_bytes
        finally:
            if self._connection is not None:
                self._connection.close()
            self._server.remove()
        return self.outcome

    def _one(self, number: int, tokens: dict[str, str], files: Path, channel: grpc.Channel) -> None:
        random = Random(f"{self._seed}/{number}")
        [kind] = random.choices(list(_SHARES), list(_SHARES.values()))
        doing: dict[str, Callable[[], str]] = {
            "rest": lambda: self._ask(a_request(random, tokens)),
            "grpc": lambda: self._say(random, channel),
            "readers": lambda: self._read(random, files),
        }
        try:
            self.outcome.answers[doing[kind]()] += 1
        except Exception as error:
            self.outcome.faults.append(f"seed {self._seed}, input {number} ({kind}): {error!r}")
        self.outcome.inputs[kind] += 1

    # -- kinds of inputs

    def _ask(self, request: Request) -> str:
        status = self._status_of(request)
        if status >= 500 and status != 503:
            raise AssertionError(f"{status} for {request.method} {request.target} {request.body[:500]!r}")
        return str(status)

    def _status_of(self, request: Request) -> int:
        """Asked once more where the server has closed the connection since the last time."""
        for is_last in (False, True):
            connection = self._connected()
            try:
                # One that is too large is refused while it is being sent: the answer is there all the same.
                with suppress(BrokenPipeError):
                    connection.request(request.method, request.target, request.body, dict(request.headers))
                answer = connection.getresponse()
                while answer.read(1 << 20):
                    pass
                return answer.status
            except (TimeoutError, http.client.HTTPException, ConnectionError):
                connection.close()
                self._connection = None
                if is_last:
                    raise
        raise AssertionError

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            address = urlsplit(self._server.url)
            self._connection = http.client.HTTPConnection(
                address.hostname or "", address.port, timeout=ANSWER_S
            )
        return self._connection

    def _say(self, random: Random, channel: grpc.Channel) -> str:
        code = say(channel, a_speech(random))
        if code in _UNWANTED_CODES:
            raise AssertionError(f"gRPC answered {code}")
        return code

    def _read(self, random: Random, files: Path) -> str:
        kind, took_s = a_file(random, files)
        self.outcome.slowest_reader_s = max(self.outcome.slowest_reader_s, took_s)
        return kind

    # -- the server

    def _make_missing(self, tokens: dict[str, str]) -> None:
        """One for each role. An input may have removed some of them, or signed somebody out."""
        for role in Role:
            secret = tokens.get(role.value)
            if (
                secret is None
                or self._server.rest("GET", "/v1/me", authorization=f"Bearer {secret}")[0] == 401
            ):
                projects = None if role is Role.ADMIN else ["vision"]
                made = self._server.client.add_token(f"u-{role.value}", role, projects=projects)
                tokens[role.value] = made.secret or ""

    @contextmanager
    def _channel(self) -> Iterator[grpc.Channel]:
        with grpc.insecure_channel(f"unix:{self._folder}/door/agents.sock") as channel, suppress(ValueError):
            yield channel
