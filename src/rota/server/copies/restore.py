"""`rota restore`: puts a copy back, into a folder that no server uses. It begins a new epoch, so that nothing
from after the copy is mistaken for something of it (docs/decisions/0013-epochs.md)."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from rota.backends.process.folders import Folders
from rota.server.copies import databases
from rota.server.copies.backup import FILES_FOLDERS, POLICY_COPY
from rota.server.copies.errors import CopyError
from rota.server.copies.manifest import Manifest, check_files, read_manifest
from rota.server.copies.trees import copy_tree
from rota.server.leading.cluster import KEY_FILE, files_folder
from rota.server.leading.epoch import begin_epoch
from rota.server.service.own_folder import LOCK_FILE, database_url, own_folder
from rota.settings.settings import Settings
from rota.store.store import open_store
from rota.trust.private_file import write_private


class Restored(Struct, frozen=True):
    manifest: Manifest
    epoch: int
    policy: Path | None
    """Where the policy is now."""
    aside: Path | None
    """Where the database is that was there before."""


def put_back(source: Path, settings: Settings, *, force: bool) -> Restored:
    """Raises CopyError, FolderTaken, EpochError and StoreError. `force`: what is there is moved aside."""
    manifest = read_manifest(source)
    check_files(source, manifest)
    data = Path(settings.server.data)
    url = database_url(settings.server.database, data)
    _check_kind(manifest, url)
    if not force and _holds_something(data):
        raise CopyError(
            f"{data} isn't empty; give a new folder with --data, or --force to put the copy in its place"
        )
    with own_folder(data, "stop it before you restore there"):
        aside = _put_database(source, url, data, force=force)
        policy = None
        if manifest.policy:
            policy = data / POLICY_COPY
            write_private(policy, (source / POLICY_COPY).read_bytes())
        if manifest.has_key:
            write_private(
                Path(settings.secrets.key_file or data / KEY_FILE), (source / KEY_FILE).read_bytes()
            )
        shared = files_folder(settings)
        for name, root in zip(FILES_FOLDERS, (data, shared), strict=True):
            if (source / name).exists():
                copy_tree(source / name, root)
        with open_store(url, lock=data / LOCK_FILE) as store:
            store.end_leases()
            kept = Folders(data / "worker"), Folders(shared / "agents")
            epoch = begin_epoch(store, shared, kept)
    return Restored(manifest, epoch, policy, aside)


def _check_kind(manifest: Manifest, url: str) -> None:
    kind = databases.kind_of(url)
    if kind == manifest.database:
        return
    remedy = (
        "give an empty PostgreSQL database with --database"
        if manifest.database == "postgresql"
        else "leave --database and server.database out: it goes into the data folder"
    )
    raise CopyError(f"the copy is of a {manifest.database} database, and the settings name {kind}; {remedy}")


def _holds_something(folder: Path) -> bool:
    try:
        return bool(set(os.listdir(folder)) - {LOCK_FILE})
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CopyError(f"{folder} can't be used: {error.strerror}") from None


def _put_database(source: Path, url: str, data: Path, *, force: bool) -> Path | None:
    if databases.kind_of(url) == "postgresql":
        if leader := databases.in_use_by(url):
            raise CopyError(f"the server {leader} uses this database; stop all of its servers first")
        is_empty = databases.is_empty_postgres(url)
        if not is_empty and not force:
            raise CopyError("the database isn't empty; give another, or --force to replace what is in it")
        databases.restore_postgres(url, source / databases.POSTGRES_COPY, clean=not is_empty)
        return None
    path = databases.sqlite_path(url)
    aside = _moved_aside(path, data)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.new")
    shutil.copyfile(source / databases.SQLITE_COPY, unfinished)
    unfinished.chmod(0o600)
    unfinished.replace(path)
    return aside


def _moved_aside(path: Path, data: Path) -> Path | None:
    """With the log beside it, without which it isn't whole. None: there was none."""
    if not path.exists():
        return None
    aside = data / f"before-restore-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}Z"
    aside.mkdir(mode=0o700)
    for ending in ("", "-wal", "-shm"):
        part = path.with_name(path.name + ending)
        if part.exists():
            shutil.move(part, aside / part.name)
    return aside
