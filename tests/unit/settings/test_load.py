"""Settings of files, the environment and flags."""

import re
from pathlib import Path
from typing import Any

import pytest

from rota.settings.contexts import current_context
from rota.settings.errors import SettingsError
from rota.settings.load import load_settings, resolve_settings
from rota.settings.paths import default_files
from rota.settings.settings import Context, Settings

HOME = {"HOME": "/home/ada"}


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, text: str, name: str = "rota.toml") -> str:
        path = self.path / name
        path.write_text(text)
        return str(path)

    def load(self, text: str, environ: dict[str, str] | None = None, **flags: Any) -> Settings:
        return load_settings([self.write(text)], HOME | (environ or {}), flags)

    def refusal(self, text: str) -> str:
        with pytest.raises(SettingsError) as caught:
            self.load(text)
        return str(caught.value).replace(f"{self.path}/", "")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_defaults_hold_without_any_file() -> None:
    settings = load_settings([], HOME, {})
    assert settings.server.data == "/home/ada/.local/share/rota"
    assert (settings.server.address, settings.server.embedded_worker) == ("127.0.0.1", True)
    history = settings.server.history
    assert (history.ttl_ms, history.jobs) == (30 * 86_400_000, 1000)
    assert (history.logs_ms, history.logs_bytes) == (7 * 86_400_000, 10 * 2**30)


def test_later_ones_win(folder: Folder) -> None:
    files = [
        folder.write("[server]\nport = 1\n[logs]\nlevel = 'debug'\n[worker]\ncpus = 1", "a.toml"),
        folder.write("[server]\nport = 2\n[worker]\ncpus = 2", "b.toml"),
    ]
    environ = HOME | {"ROTA_SERVER_PORT": "3", "ROTA_WORKER_NAME": "n3"}
    settings = load_settings(files, environ, {"server.port": 4, "worker.name": None})
    assert settings.server.port == 4
    assert settings.worker.name == "n3"
    assert settings.worker.cpus == 2
    assert settings.logs.level == "debug"


def test_where_each_value_came_from(folder: Folder) -> None:
    file = folder.write("# mine\n[server]\nport = 1\nlimits.body = '2Mi'\n")
    resolved = resolve_settings([file], HOME | {"ROTA_LOGS_LEVEL": "error"}, {"server.address": "::1"})
    rows = {row.key: (row.value, row.origin) for row in resolved.rows()}
    assert rows["server.port"] == (1, f"{file}:3")
    assert rows["server.limits.body"] == ("2Mi", f"{file}:4")
    assert rows["server.address"] == ("::1", "command line")
    assert rows["logs.level"] == ("error", "ROTA_LOGS_LEVEL")
    assert rows["worker.cpus"] == (0, "default")


def test_a_password_is_not_shown(folder: Folder) -> None:
    flags = {"server.database": "postgresql://ada:secret@host/rota"}
    rows = {row.key: row.value for row in resolve_settings([], HOME, flags).rows()}
    assert rows["server.database"] == "postgresql://ada:***@host/rota"


def test_amounts_are_written_with_units(folder: Folder) -> None:
    settings = folder.load(
        "[server.history]\nttl = '2h'\nuploads = '2d'\n[worker]\nmemory = '4Gi'\nprice_per_hour = 0.12"
    )
    assert settings.server.history.ttl_ms == 7_200_000
    assert settings.server.history.uploads_ms == 2 * 86_400_000
    assert settings.worker.memory_bytes == 2**32
    assert settings.worker.price_micro_per_hour == 120_000


def test_paths_are_found_from_their_file_on(folder: Folder) -> None:
    settings = folder.load("[server]\npolicy = 'policy.yaml'\ndata = '~/rota'")
    assert settings.server.policy == str(folder.path / "policy.yaml")
    assert settings.server.data == "/home/ada/rota"
    assert load_settings([], HOME, {"server.policy": "policy.yaml"}).server.policy == "policy.yaml"


@pytest.mark.parametrize(("text", "value"), [("true", True), ("off", False), ("1", True), ("No", False)])
def test_truth_in_the_environment(text: str, value: bool) -> None:
    assert load_settings([], HOME | {"ROTA_SERVER_EMBEDDED_WORKER": text}, {}).server.embedded_worker is value


def test_what_jobs_find_in_their_environment_is_no_setting() -> None:
    assert load_settings([], HOME | {"ROTA_JOB_ID": "17", "ROTA_RANK": "0"}, {}) == load_settings(
        [], HOME, {}
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[server]\n\nadress = 'x'",
            "rota.toml:3: server: unknown key 'adress'; did you mean 'address'?",
        ),
        ("[sever]\nport = 1", "rota.toml:1: unknown key 'sever'; did you mean 'server'?"),
        ("[server]\nport = 'x'", 'rota.toml:2: server.port: "x" is not a whole number; give one from 0'),
        (
            "[server]\nport = 70000",
            "rota.toml:2: server.port: 70000 is out of range; give one from 0 to 65535",
        ),
        ("[server]\nport = true", "rota.toml:2: server.port: true is not a whole number"),
        ("[server]\nembedded_worker = 'yes'", 'rota.toml:2: server.embedded_worker: "yes" is neither true'),
        ("[server]\naddress = 1", "rota.toml:2: server.address: 1 is not text; put it in quotes"),
        ("server = 1", "rota.toml:1: server: is a section; write [server]"),
        ("[server]\nlimits = 1", "rota.toml:2: server.limits: is a section; write [server.limits]"),
        ("[server.history]\nsucceeded = 3", "rota.toml:2: server.history.succeeded: is no longer a setting"),
        ("[server.history]\nttl = 'soon'", 'rota.toml:2: server.history.ttl: "soon" is not a duration'),
        (
            "[server.limits]\nheartbeat = '1m'",
            "rota.toml:2: server.limits.heartbeat: 1m is out of range; give 100ms to 30s",
        ),
        ("[worker]\nprice_per_hour = '1 €'", 'rota.toml:2: worker.price_per_hour: "1 €" is not a price'),
        (
            "[logs]\nlevel = 'loud'",
            'rota.toml:2: logs.level: "loud" is not an allowed value; allowed: debug, error,',
        ),
        ("[server", "rota.toml: not valid TOML: "),
        ("[server.tls]\nkey = 'k'", "rota.toml:2: server.tls.key: without its certificate; set server.tls."),
        (
            "[server.tls]\nkey = 'k'\ncertificate = 'c'\nself_signed = true",
            "rota.toml:4: server.tls.self_signed: there is a certificate already",
        ),
        (
            "[server]\naddress = '0.0.0.0'",
            "rota.toml:2: server.address: other machines could read the traffic",
        ),
        (
            "[server]\naddress = 'example.org'",
            "rota.toml:2: server.address: other machines could read the traffic",
        ),
        ("[server]\ndatabase = 'pg'", "rota.toml:2: server.database: is not a URL"),
        ("[client]\ncontext = 'x'", "rota.toml:2: client.context: there is no context 'x'; known: none"),
        ("[client]\nurl = 'x'", "rota.toml:2: client.url: 'x' is not an address of a server"),
        (
            "[client.contexts.'a.b']\nurl = 'http://[x'",
            "rota.toml:2: client.contexts.a.b.url: 'http://[x' is not an address of a server",
        ),
        ("[client.contexts.a]\nurll = 'x'", "rota.toml:2: client.contexts.a: unknown key 'urll'; did you"),
        ("[client.contexts]\na = 1", "rota.toml:2: client.contexts.a: is a section"),
    ],
)
@pytest.mark.covers("ops-3")
def test_refused(folder: Folder, text: str, message: str) -> None:
    assert folder.refusal(text).startswith(message)


@pytest.mark.parametrize(
    ("environ", "flags", "message"),
    [
        (
            {"ROTA_SERVER_PROT": "1"},
            {},
            "ROTA_SERVER_PROT: there is no such setting; did you mean ROTA_SERVER_PORT?",
        ),
        ({"ROTA_SERVER_PORT": ""}, {}, 'ROTA_SERVER_PORT: server.port: "" is not a whole number'),
        ({}, {"server.prt": 1}, "command line: server: unknown key 'prt'; did you mean 'port'?"),
        ({}, {"server.port": -1}, "command line: server.port: -1 is out of range"),
    ],
)
def test_refused_elsewhere(environ: dict[str, str], flags: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings([], HOME | environ, flags)
    assert str(caught.value).startswith(message)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff")
    for path, message in (
        (tmp_path / "none.toml", "there is no such file"),
        (tmp_path, "cannot be read"),
        (binary, "is not UTF-8 text"),
    ):
        with pytest.raises(SettingsError, match=message):
            load_settings([path], HOME, {})


def test_the_files_that_are_read_without_being_named(tmp_path: Path) -> None:
    mine = tmp_path / "rota" / "rota.toml"
    mine.parent.mkdir()
    mine.touch()
    environ = {"HOME": "/nowhere", "XDG_CONFIG_HOME": str(tmp_path), "ROTA_CONFIG": "other.toml"}
    assert default_files(environ)[-2:] == (str(mine), "other.toml")
    assert str(mine) not in default_files({"HOME": "/nowhere", "XDG_CONFIG_HOME": "relative"})


class TestContexts:
    TWO = """
        [client]
        context = "lab"
        [client.contexts.lab]
        url = "https://lab.example.org:8426"
        token_file = "/t"
        project = "vision"
        [client.contexts.other]
        url = "http://127.0.0.1:9"
    """

    def test_the_one_in_use(self, folder: Folder) -> None:
        lab = Context(url="https://lab.example.org:8426", token_file="/t", project="vision")
        assert current_context(folder.load(self.TWO)) == lab

    def test_another_by_the_environment(self, folder: Folder) -> None:
        other = folder.load(self.TWO, {"ROTA_CLIENT_CONTEXT": "other"})
        assert current_context(other).url == "http://127.0.0.1:9"

    def test_short_variables(self, folder: Folder) -> None:
        assert folder.load(self.TWO, {"ROTA_CONTEXT": "other"}).client.context == "other"
        assert folder.load("", {"ROTA_URL": "http://x"}).client.url == "http://x"
        assert folder.load("", {"ROTA_CA": "/ca"}).client.ca_file == "/ca"

    def test_a_server_that_is_named_gets_no_token_of_another(self, folder: Folder) -> None:
        settings = folder.load(self.TWO, {"ROTA_CLIENT_URL": "https://evil.example.org"})
        assert current_context(settings) == Context(url="https://evil.example.org", project="vision")

    def test_the_server_of_this_machine(self, folder: Folder) -> None:
        settings = folder.load("[server]\naddress = '::1'\nport = 7\ndata = '/d'\ntls.self_signed = true")
        assert current_context(settings) == Context(
            url="https://[::1]:7", token_file="/d/token", ca_file="/d/ca.pem"
        )


class TestManual:
    """docs/settings.md is complete, and its example can be read."""

    MANUAL = Path(__file__).parents[3] / "docs" / "settings.md"

    def test_it_names_every_setting(self) -> None:
        manual = self.MANUAL.read_text()
        keys = [row.key for row in resolve_settings([], HOME, {}).rows()]
        assert [key for key in keys if f"`{key}`" not in manual] == []

    def test_its_example(self, folder: Folder) -> None:
        [example] = re.findall(r"```toml\n(.*?)```", self.MANUAL.read_text(), re.DOTALL)
        settings = folder.load(example)
        assert (settings.server.port, settings.client.context) == (8426, "lab")


@pytest.mark.covers("back-3")
def test_backends_have_names(folder: Folder) -> None:
    east_text = "[backends.east]\nkubeconfig = 'k'\nlimit_cpu = '2500m'\nlost_after = '2m'\n"
    found = folder.load(east_text + "[backends.west]\nkind = 'kubernetes'\n").backends
    assert list(found) == ["east", "west"]
    east = found["east"]
    assert east.kubeconfig == str(folder.path / "k")
    assert (east.limit_cpu_milli, east.lost_after_ms, east.kind) == (2500, 120_000, "kubernetes")


@pytest.mark.parametrize(
    "text, refusal",
    [
        ("[backends.east]\ncontex = 'a'", "unknown key 'contex'; did you mean 'context'?"),
        ("[backends.east]\n", "says nothing"),
        ("[backends.local]\ncontext = 'a'", "backends.local: is Rota's own"),
        ("[backends.'a b']\ncontext = 'a'", "can't be the name of a backend"),
        ("[backends.east]\nnode_labels = ['x']", "'x' is no label"),
        ("[backends.east]\nkind = 'mesos'", "kubernetes"),
    ],
)
def test_backends_that_cannot_be(folder: Folder, text: str, refusal: str) -> None:
    assert refusal in folder.refusal(text)
