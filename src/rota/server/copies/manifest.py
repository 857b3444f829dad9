"""What a copy holds. The manifest is written last: a folder without one isn't a whole copy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import file_digest
from pathlib import Path

import msgspec
from msgspec import Struct

from rota.server.copies.errors import CopyError
from rota.trust.private_file import write_private

MANIFEST = "manifest.json"
FORMAT = 1


class CopiedFile(Struct, frozen=True):
    path: str
    """Below the folder of the copy."""
    bytes: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    format: int = FORMAT
    rota: str
    """The version that made it."""
    made: str
    """When, UTC."""
    database: str
    """sqlite or postgresql."""
    jobs: int
    tokens: int
    has_key: bool
    """The key that secrets of projects are sealed with."""
    has_files: bool
    """Output, kept files and input files of jobs."""
    policy: str = ""
    """Where the policy was; empty: there was none."""
    settings: tuple[str, ...] = ()
    """Where the settings files were, in the order of `settings/`."""
    files: tuple[CopiedFile, ...] = ()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    write_private(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=2))


def read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (FileNotFoundError, NotADirectoryError):
        raise CopyError(
            f"{folder} holds no whole copy: {MANIFEST} is missing; give a folder that `rota backup` made"
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise CopyError(f"{path} can't be read: {error}; give another copy") from None
    if manifest.format != FORMAT:
        raise CopyError(
            f"{path} has format {manifest.format}, made by Rota {manifest.rota}; restore it with that version"
        )
    return manifest


def files_in(folder: Path) -> Iterator[CopiedFile]:
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = Path(place, name)
            if path != folder / MANIFEST:
                yield CopiedFile(str(path.relative_to(folder)), path.stat().st_size, _sha256(path))


def check_files(folder: Path, manifest: Manifest) -> None:
    """That each is there, as it was written."""
    for file in manifest.files:
        path = folder / file.path
        if ".." in Path(file.path).parts or Path(file.path).is_absolute():
            raise CopyError(f"{folder / MANIFEST} names {file.path}, which isn't in the copy")
        try:
            is_same = path.stat().st_size == file.bytes and _sha256(path) == file.sha256
        except OSError as error:
            raise CopyError(f"{path} can't be read: {error.strerror}; the copy isn't whole") from None
        if not is_same:
            raise CopyError(f"{path} isn't as it was written: the copy is damaged; use another one")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
