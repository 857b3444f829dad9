"""How a client finds its server, and what it refuses to use."""

from pathlib import Path

import pytest

from rota.sdk.connection import connection
from rota.sdk.errors import NoServer


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }


def leave_server(home: dict[str, str], url: str = "http://127.0.0.1:9000", token: str = "local") -> Path:
    folder = Path(home["XDG_DATA_HOME"], "rota")
    folder.mkdir(parents=True, mode=0o700)
    for name, text in (("server.json", f'{{"url": "{url}", "ca": null}}'), ("token", f"{token}\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    return folder


def write_settings(home: dict[str, str], text: str) -> Path:
    file = Path(home["XDG_CONFIG_HOME"], "rota", "rota.toml")
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file.parent


def test_the_server_of_this_machine_by_default(home: dict[str, str]) -> None:
    leave_server(home)
    found = connection(environment=home)
    assert (found.url, found.token, found.ca) == ("http://127.0.0.1:9000", "local", None)


def test_arguments_go_before_the_environment_and_that_before_the_local_server(home: dict[str, str]) -> None:
    leave_server(home)
    home |= {"ROTA_URL": "https://far.example.org/rota/", "ROTA_TOKEN": "far"}
    assert connection(environment=home).url == "https://far.example.org/rota"
    assert connection(environment=home).token == "far"
    chosen = connection("https://other.example.org", "other", environment=home)
    assert (chosen.url, chosen.token) == ("https://other.example.org", "other")


@pytest.mark.covers("ops-2")
def test_the_local_token_is_shown_to_no_other_server(home: dict[str, str]) -> None:
    leave_server(home)
    with pytest.raises(NoServer, match=r"no token is known for https://far\.example\.org"):
        connection("https://far.example.org", environment=home)
    assert connection("http://127.0.0.1:9000/", environment=home).token == "local"


def test_a_context_comes_with_its_own_token(home: dict[str, str]) -> None:
    folder = write_settings(
        home, '[client.contexts.lab]\nurl = "https://lab.example.org"\ntoken_file = "lab-token"\n'
    )
    (folder / "lab-token").write_text("of-the-lab")
    (folder / "lab-token").chmod(0o600)
    home |= {"ROTA_URL": "https://far.example.org", "ROTA_TOKEN": "far"}
    found = connection(context="lab", environment=home)
    assert (found.url, found.token) == ("https://lab.example.org", "of-the-lab")
    with pytest.raises(NoServer, match="there is no context 'office'"):
        connection(context="office", environment=home)


def test_nothing_is_known(home: dict[str, str]) -> None:
    with pytest.raises(NoServer, match="start one with `rota server`"):
        connection(environment=home)


@pytest.mark.covers("ops-2")
@pytest.mark.parametrize("name, mode", [("token", 0o640), ("token", 0o604), ("server.json", 0o622)])
def test_files_that_others_could_use_are_refused(home: dict[str, str], name: str, mode: int) -> None:
    (leave_server(home) / name).chmod(mode)
    with pytest.raises(NoServer, match=rf"{name} is open to others \(mode {mode:04o}\).*chmod 600"):
        connection(environment=home)


@pytest.mark.parametrize(
    "url",
    ["far.example.org", "ftp://x", "http://", "https://a b", "http://[::1", "https://u:p@x", "http://x:y"],
)
def test_what_is_no_address(home: dict[str, str], url: str) -> None:
    with pytest.raises(NoServer):
        connection(url, "token", environment=home)


def test_no_token_is_sent_unencrypted_to_another_machine(home: dict[str, str]) -> None:
    with pytest.raises(NoServer, match="unencrypted"):
        connection("http://far.example.org", "token", environment=home)
    for host in ("127.0.0.1", "[::1]", "localhost"):
        assert connection(f"http://{host}:1", "token", environment=home).token == "token"


@pytest.mark.parametrize("token", ["two words", "line\r\nX-Evil: 1", "ünïcode"])
def test_a_token_is_never_more_than_a_token(home: dict[str, str], token: str) -> None:
    with pytest.raises(NoServer, match="token"):
        connection("http://localhost:1", token, environment=home)


def test_the_token_is_not_shown(home: dict[str, str]) -> None:
    assert "secret" not in repr(connection("http://localhost:1", "secret", environment=home))


def test_certificates_that_cannot_be_read(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing of the kind")
    for file in ("ca.pem", "missing.pem"):
        with pytest.raises(NoServer, match="can't be read"):
            connection("https://x.example.org", "t", ca=str(tmp_path / file), environment=home).tls()


@pytest.mark.parametrize("content", [b"{}", b'{"url": "\xff"}', b"[" * 5_000, b'{"x": ' + b"[" * 5_000])
def test_a_server_file_that_is_broken(home: dict[str, str], content: bytes) -> None:
    (leave_server(home) / "server.json").write_bytes(content)
    with pytest.raises(NoServer, match="restart the server"):
        connection(environment=home)
