"""`rota backup`: all that a server needs to go on elsewhere, in one folder."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from rota import __version__
from rota.server.copies import databases
from rota.server.copies.errors import CopyError
from rota.server.copies.manifest import Manifest, files_in, write_manifest
from rota.server.copies.trees import copy_tree, kept_folders
from rota.server.leading.cluster import KEY_FILE, files_folder
from rota.server.service.own_folder import database_url
from rota.settings.settings import Settings
from rota.trust.private_file import write_private

POLICY_COPY = "policy.yaml"
SETTINGS_FOLDER = "settings"
FILES_FOLDERS = ("files/data", "files/shared")
_PASSWORD = re.compile(rb"(?<=://)([^/\s:@\"']*):[^/\s@\"']*(?=@)")


class Wanted(Struct, frozen=True):
    """What is left out unless it is asked for."""

    secrets: bool = False
    files: bool = False


def make_copy(target: Path, settings: Settings, settings_files: Sequence[str], wanted: Wanted) -> Manifest:
    """Raises CopyError, and StoreError."""
    data = Path(settings.server.data)
    _make_empty(target)
    kind, counts = _copy_database(database_url(settings.server.database, data), target)
    if settings.server.policy:
        write_private(target / POLICY_COPY, _read(Path(settings.server.policy), "server.policy"))
    folder = target / SETTINGS_FOLDER
    folder.mkdir(mode=0o700)
    for number, path in enumerate(settings_files, 1):
        text = _read(Path(path), "the settings file")
        write_private(
            folder / f"{number}-{Path(path).name}",
            text if wanted.secrets else _PASSWORD.sub(rb"\1:***", text),
        )
    key = Path(settings.secrets.key_file or data / KEY_FILE)
    has_key = wanted.secrets and key.exists()
    if has_key:
        write_private(target / KEY_FILE, _read(key, "secrets.key_file"))
    if wanted.files:
        for root, name in _roots(settings, data):
            for kept in kept_folders(root):
                copy_tree(kept, target / name / kept.relative_to(root))
    manifest = Manifest(
        rota=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        database=kind,
        jobs=counts.jobs,
        tokens=counts.tokens,
        has_key=has_key,
        has_files=wanted.files,
        policy=settings.server.policy,
        settings=tuple(settings_files),
        files=tuple(files_in(target)),
    )
    write_manifest(target, manifest)
    return manifest


def _roots(settings: Settings, data: Path) -> list[tuple[Path, str]]:
    """What is in the folder that servers share isn't copied twice where that is the data folder."""
    shared = files_folder(settings)
    roots = [(data, FILES_FOLDERS[0])]
    return roots if shared == data else [*roots, (shared, FILES_FOLDERS[1])]


def _copy_database(url: str, target: Path) -> tuple[str, databases.Counts]:
    kind = databases.kind_of(url)
    if kind == "sqlite":
        copy = target / databases.SQLITE_COPY
        databases.copy_sqlite(databases.sqlite_path(url), copy)
        return kind, databases.counts_of_sqlite(copy)
    databases.dump_postgres(url, target / databases.POSTGRES_COPY)
    return kind, databases.counts_of_postgres(url)


def _make_empty(target: Path) -> None:
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.listdir(target):
            raise CopyError(f"{target} isn't empty; give a folder that is new, such as one with the date")
        target.chmod(0o700)
    except OSError as error:
        raise CopyError(f"{target} can't be used: {error.strerror}; give another folder") from None


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CopyError(f"{path} ({what}) can't be read: {error.strerror}") from None
