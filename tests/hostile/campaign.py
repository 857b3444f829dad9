"""One campaign against one server: so many inputs, or so long, and what came of them."""

from __future__ import annotations

import http.client
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from time import monotonic
from urllib.parse import urlsplit

import grpc
import httpx
from msgspec import Struct, field

from bench.harness import Result
from rota.api.people import Role
from tests.hostile.answers import Liar, an_answer, ask, command
from tests.hostile.awaited import ask_awaited
from tests.hostile.broken import broken, status_of
from tests.hostile.guests import Guests
from tests.hostile.odd import Odd
from tests.hostile.readers import a_file
from tests.hostile.requests import Request, a_request
from tests.hostile.signing_in import sign_in
from tests.hostile.visitor import Visitor
from tests.hostile.watch import Watch
from tests.hostile.words import a_speech, say
from tests.real.server.oidc_provider import CLIENT_ID, Provider
from tests.real.server.rota_server import RotaServer, eventually

FEWEST_INPUTS = 20_000
"""In ten minutes."""
LONGEST_SILENCE_S = 0.25
MOST_GROWTH_BYTES = 200 << 20
LOOK_EVERY = 200
ANSWER_S = 30
_UNWANTED_CODES = frozenset(("INTERNAL", "UNKNOWN"))
_SHARES = {
    "rest": 56,
    "readers": 20,
    "client": 7,
    "awaited": 3,
    "broken": 5,
    "grpc": 4,
    "sign-in": 3,
    "command": 2,
}
_SESSION = re.compile(r"rota-session=([^;]+)")
_FLOW = re.compile(r"rota-sign-in=([^;]+)")
_SETTINGS = """
[oidc]
issuer = "{issuer}"
client_id = "{client_id}"
roles = ["ops=operator", "staff=submitter"]
projects = ["ml=vision:submitter"]
"""

Kind = Callable[[Random], str]
"""Makes an input, and gives what came of it."""


class Outcome(Struct):
    inputs: Counter[str] = field(default_factory=Counter)
    """By kind."""
    answers: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    took_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """All inputs of a kind together."""
    longest_silence_s: float = 0.0
    silent_before: int = 0
    """The longest silence was in the last inputs before this one."""
    grown_bytes: int = 0
    slowest_reader_s: float = 0.0

    def table(self) -> Iterator[str]:
        yield f"{sum(self.inputs.values()):,} inputs"
        for kind, count in sorted(self.inputs.items()):
            yield f"  {kind:<12}{count:>8,}{self.took_s[kind]:>8.0f} s"
        yield "answers"
        for answer, count in sorted(self.answers.items()):
            yield f"  {answer:<24}{count:>8,}"
        at = f", in the {LOOK_EVERY} inputs before number {self.silent_before:,}"
        yield f"longest silence of the loop  {1000 * self.longest_silence_s:.0f} ms{at}"
        yield f"growth of the server         {self.grown_bytes / 2**20:.0f} MiB"
        yield f"slowest file, CPU            {self.slowest_reader_s:.2f} s"

    def results(self, took_s: float) -> list[Result]:
        """Beside what they may be at most, or at least."""
        count, kinds = sum(self.inputs.values()), len(self.inputs)
        within, limit = f"in {took_s:.0f} s", "the limit"
        silence_ms, grown_mib = 1000 * self.longest_silence_s, self.grown_bytes / 2**20
        most_ms, most_mib = 1000 * LONGEST_SILENCE_S, MOST_GROWTH_BYTES / 2**20
        return [
            Result(f"inputs of {kinds} kinds", within, True, count, FEWEST_INPUTS, "the least", "≥ 1"),
            Result("longest silence of the loop", "ms", False, round(silence_ms), most_ms, limit, "≥ 1"),
            Result("growth of the server", "MiB", False, round(grown_mib), most_mib, limit, "≥ 1"),
        ]

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
        self._door = f"unix:{folder}/door/agents.sock"
        self._server = RotaServer(folder / "server", "--agents", self._door)
        self._connection: http.client.HTTPConnection | None = None
        self._guests = Guests()
        self._watch = Watch(self._server)
        self.outcome = Outcome()

    def run(self, inputs: int, seconds: float) -> Outcome:
        """Until either is reached."""
        with ExitStack() as parts:
            provider = Provider()
            parts.callback(provider.close)
            liar = Liar()
            parts.callback(liar.close)
            parts.callback(self._server.remove)
            self._start(provider)
            parts.callback(self._hang_up)
            parts.enter_context(Visitor(self._door, self._guests))
            eventually(lambda: self._guests.agent, "the visitor to be let in")
            with self._channel() as channel:
                kinds = self._kinds(provider, liar, channel)
                until_s = monotonic() + seconds
                for number in range(inputs):
                    if monotonic() >= until_s:
                        break
                    if number % LOOK_EVERY == 0:
                        self._look(number)
                        self._make_missing()
                    self._one(number, kinds)
                self._look(sum(self.outcome.inputs.values()))
        return self.outcome

    def _look(self, number: int) -> None:
        watch, outcome = self._watch, self.outcome
        watch.look()
        if watch.longest_silence_s > outcome.longest_silence_s:
            outcome.longest_silence_s, outcome.silent_before = watch.longest_silence_s, number
        outcome.grown_bytes = watch.grown_bytes

    def _start(self, provider: Provider) -> None:
        settings = self._folder / "server" / "config" / "rota" / "rota.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(_SETTINGS.format(issuer=provider.issuer, client_id=CLIENT_ID))
        self._server.start()
        self._guests.url = self._server.url
        self._server.client.set_project("vision", members={"bob": Role.VIEWER})

    def _kinds(
        self, provider: Provider, liar: Liar, channel: grpc.Channel
    ) -> dict[str, Callable[[Random], str]]:
        files = self._folder / "files"
        files.mkdir()
        return {
            "rest": lambda random: self._ask(a_request(random, self._guests)),
            "broken": lambda random: self._break(random),
            "sign-in": lambda random: _wanted(sign_in(random, provider, self._server.url), "a sign-in"),
            "grpc": lambda random: self._say(random, channel),
            "readers": lambda random: self._read(random, files),
            "client": lambda random: f"client: {ask(liar, random)}",
            "awaited": lambda random: f"awaited: {ask_awaited(liar, random)}",
            "command": lambda random: self._command(random, liar, files),
        }

    def _one(self, number: int, kinds: Mapping[str, Kind]) -> None:
        random = Random(f"{self._seed}/{number}")
        [kind] = random.choices(list(_SHARES), list(_SHARES.values()))
        began_s = monotonic()
        try:
            self.outcome.answers[kinds[kind](random)] += 1
        except Exception as error:
            self.outcome.faults.append(f"seed {self._seed}, input {number} ({kind}): {error!r}")
        self.outcome.inputs[kind] += 1
        self.outcome.took_s[kind] += monotonic() - began_s

    # -- kinds of inputs

    def _ask(self, request: Request) -> str:
        about = f"{request.method} {request.target} {request.headers} {request.body[:500]!r}"
        return _wanted(self._status_of(request), about)

    def _break(self, random: Random) -> str:
        data = broken(random, a_request(random, self._guests))
        status = status_of(self._server.url, data, ANSWER_S)
        return "closed" if status == "closed" else _wanted(int(status), repr(data[:500]))

    def _command(self, random: Random, liar: Liar, files: Path) -> str:
        """Of a real server, or of one that lies."""
        url, token = self._server.url, random.choice(list(self._guests.tokens.values()))
        if random.random() < 0.5:
            liar.answer = an_answer(Odd(random))
            url = liar.url
        return f"exit {command(url, token, random, files)}"

    def _status_of(self, request: Request) -> int:
        """Asked once more where the server has closed the connection since the last time."""
        for is_last in (False, True):
            connection = self._connected()
            try:
                # One that is too large is refused while it is being sent: the answer is there all the same.
                with suppress(BrokenPipeError):
                    connection.request(request.method, request.target, request.body, dict(request.headers))
                answer = connection.getresponse()
                if request.is_endless:
                    self._hang_up()
                    return answer.status
                body = answer.read()
                if request.route.path == "/metrics" and answer.status == 200:
                    self._watch.hear(body)
                return answer.status
            except (TimeoutError, http.client.HTTPException, ConnectionError):
                self._hang_up()
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

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _make_missing(self) -> None:
        """A token and a session for each role. An input may have removed some, or signed somebody out."""
        guests = self._guests
        for role in Role:
            secret = guests.tokens.get(role.value)
            if secret is None or not self._counts(authorization=f"Bearer {secret}"):
                projects = None if role is Role.ADMIN else ["vision"]
                made = self._server.client.add_token(f"u-{role.value}", role, projects=projects)
                guests.tokens[role.value] = made.secret or ""
            session = guests.sessions.get(role.value)
            if session is None or not self._counts(cookie=f"rota-session={session}"):
                answer = self._sent("POST", "/sign-in/token", {"token": guests.tokens[role.value]})
                if found := _SESSION.search(answer.headers.get("set-cookie", "")):
                    guests.sessions[role.value] = found[1]
        page = self._sent("GET", "/sign-in")
        if found := _FLOW.search(page.headers.get("set-cookie", "")):
            guests.flow = found[1]

    def _counts(self, **headers: str) -> bool:
        return self._sent("GET", "/v1/me", **headers).status_code != 401

    def _sent(self, method: str, path: str, form: object = None, **headers: str) -> httpx.Response:
        return httpx.request(method, self._server.url + path, json=form, headers=headers, timeout=60)

    @contextmanager
    def _channel(self) -> Iterator[grpc.Channel]:
        with grpc.insecure_channel(self._door) as channel, suppress(ValueError):
            yield channel


def _wanted(status: int, about: str) -> str:
    if status >= 500 and status != 503:
        raise AssertionError(f"{status} for {about}")
    return str(status)
