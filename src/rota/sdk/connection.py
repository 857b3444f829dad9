"""How a client finds its server: by arguments, the environment, a context of the settings, or the folder in
which a server on this machine writes its address and a token for the user who started it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import MsgspecError, Struct, json

from rota.sdk.errors import NoServer
from rota.settings.contexts import TOKEN_FILE, current_context
from rota.settings.errors import SettingsError
from rota.settings.load import load_settings
from rota.settings.paths import default_files
from rota.settings.settings import Settings

if TYPE_CHECKING:
    import ssl

LOOPBACK_NAMES = ("localhost", "ip6-localhost")


class Connection(Struct, frozen=True):
    url: str
    """Without a slash at its end."""
    token: str
    ca: str | None = None
    """A file with the certificates to trust; None: those that this machine trusts."""

    def __repr__(self) -> str:
        """Without the token, which must not reach a log."""
        return f"Connection({self.url})"

    def tls(self) -> ssl.SSLContext | None:
        if not self.url.startswith("https:"):
            return None
        # Only here: most commands speak plain HTTP with a server on the same machine.
        import ssl

        try:
            return ssl.create_default_context(cafile=self.ca)
        except (OSError, ssl.SSLError) as error:
            raise NoServer(
                f"the certificates in {self.ca} can't be read: {error}",
                field="ca",
                help="give the file of the certificate that the server shows, in PEM form",
            ) from None


class LocalServer(Struct, frozen=True):
    """What a server on this machine says of itself, in `server.json` of its data folder."""

    url: str
    ca: str | None = None


def connection(
    url: str | None = None,
    token: str | None = None,
    context: str | None = None,
    ca: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
) -> Connection:
    """Raises NoServer if nothing says where the server is, or what says so is unsafe to use."""
    settings = _settings(url, context, ca, environment)
    client = settings.client
    chosen = current_context(settings)
    address, token_file, ca_file = chosen.url, chosen.token_file, chosen.ca_file
    is_named = bool(client.url or client.context)
    local = _local_server(Path(settings.server.data))
    # The local token is for the local server alone: no other address is ever shown it.
    if local is not None and (not is_named or address.rstrip("/") == local.url.rstrip("/")):
        address = local.url
        token_file = token_file or os.path.join(settings.server.data, TOKEN_FILE)
        ca_file = ca_file or (os.path.join(settings.server.data, local.ca) if local.ca else "")
    elif not is_named and not os.path.exists(token_file):
        raise NoServer(
            "no Rota server is known here",
            field="url",
            help="start one with `rota server`, or set ROTA_URL and ROTA_TOKEN",
        )
    # A context that is asked for by name comes with its own token, whatever the environment has.
    tokens = [environment.get("ROTA_TOKEN"), _token_in(token_file)]
    found = token or next(filter(None, reversed(tokens) if context else tokens), None)
    if found is None:
        raise NoServer(
            f"no token is known for {address}",
            field="token",
            help="set ROTA_TOKEN, pass token=…, or name its token_file in a context",
        )
    return Connection(_checked_url(address), _checked_token(found), ca_file or None)


def _settings(
    url: str | None, context: str | None, ca: str | None, environment: Mapping[str, str]
) -> Settings:
    if context is not None:
        # Who asks for a context means its server, not that of the environment.
        environment = {
            name: value for name, value in environment.items() if name not in ("ROTA_URL", "ROTA_CA")
        }
    flags = {"client.url": url, "client.context": context, "client.ca_file": ca}
    try:
        return load_settings(default_files(environment), environment, flags)
    except SettingsError as error:
        raise NoServer(str(error), field=error.key or None) from None


def _local_server(folder: Path) -> LocalServer | None:
    path = folder / "server.json"
    # Who can write it could send our token anywhere.
    text = _own_file(path, forbidden=stat.S_IWGRP | stat.S_IWOTH)
    if text is None:
        return None
    try:
        return json.decode(text, type=LocalServer)
    except (MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NoServer(
            f"{path} can't be read: {error}", help="restart the server: it writes the file again"
        ) from None


def _token_in(file: str) -> str | None:
    text = _own_file(Path(file), forbidden=stat.S_IRWXG | stat.S_IRWXO) if file else None
    return None if text is None else text.decode("utf-8", "replace").strip() or None


def _own_file(path: Path, *, forbidden: int) -> bytes | None:
    """None if there is none. The mode is checked on the opened file, so it is that of the file that is
    read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NoServer(f"{path} can't be read: {error.strerror}") from None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if status.st_uid not in (os.getuid(), 0):
            raise NoServer(f"{path} belongs to another user", help="set ROTA_URL and ROTA_TOKEN instead")
        if status.st_mode & forbidden:
            raise NoServer(
                f"{path} is open to others (mode {stat.S_IMODE(status.st_mode):04o})",
                help=f"close it with `chmod 600 {path}`; if others may have read a token, make a new one",
            )
        return file.read()


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise NoServer(f"{url!r} is not an address: {error}", field="url") from None
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if (
        parts.scheme not in ("http", "https")
        or not host
        or not is_plain
        or parts.query
        or parts.fragment
        or parts.username
    ):
        raise NoServer(
            f"{url!r} is not an address of a server",
            field="url",
            help="write it as in https://rota.example.org:8426",
        )
    if parts.scheme == "http" and not _is_loopback(host):
        raise NoServer(
            f"{url} would send the token unencrypted",
            field="url",
            help="use https; with a certificate of the server's own, pass its file as ca=… or ROTA_CA",
        )
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in LOOPBACK_NAMES


def _checked_token(token: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token:
        raise NoServer("the token has characters that no token has", field="token", help="copy it once more")
    return token
