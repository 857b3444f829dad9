"""Folders as archives, which go along with a job and are unpacked there.

What makes no difference to a job makes none here: times and owners are left out, and names are sorted. So an
unchanged folder is the same file to the server, and counts once.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache

import typer

from rota.backends.process.keeper.files.archive import BadArchive, check_target
from rota.cli.output import talk
from rota.views.quoting import one_line

_EXECUTABLE = 0o100


def of_folder(folder: str) -> str:
    """The path of the archive, which is there for as long as this process is."""
    return _packed(folder, _all_in(folder), "--file")


def of_checkout(folder: str) -> str:
    """All that Git knows, as it lies there, and all that it doesn't ignore."""
    top = _top(folder, "--git")
    return _packed(top, sorted(_files_of(top)), "--git")


def of_commit(folder: str, ref: str) -> str:
    top = _top(folder, "--git-ref")
    try:
        commit = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    except subprocess.CalledProcessError:
        raise typer.BadParameter(
            f'"{one_line(ref)}" is no commit, branch or tag of {top}', param_hint="--git-ref"
        ) from None
    data = _git(top, "archive", "--format=tar", commit.decode().strip())
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            _check(member, "--git-ref")
    with _new_archive(top) as file:
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
            packed.write(data)
        return str(file.name)


def _packed(folder: str, names: Iterable[str], option: str) -> str:
    with _new_archive(folder) as file:
        try:
            # Format and level are written into the file: as they are here, whatever the defaults become.
            with (
                gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed,
                tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
            ):
                for name in names:
                    _add(archive, os.path.join(folder, name), name, option)
        except OSError as error:
            where, why = error.filename or folder, error.strerror or "it changed meanwhile; try again"
            raise typer.BadParameter(f"{where} can't be read: {why}", param_hint=option) from None
        return str(file.name)


def _add(archive: tarfile.TarFile, path: str, name: str, option: str) -> None:
    found = os.lstat(path)
    member = tarfile.TarInfo(name)
    if stat.S_ISLNK(found.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, os.readlink(path)
        _check(member, option)
        archive.addfile(member)
    elif stat.S_ISDIR(found.st_mode):
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(member)
    elif stat.S_ISREG(found.st_mode):
        with open(path, "rb") as content:
            # As it is now: the file may have grown since.
            member.size = os.fstat(content.fileno()).st_size
            member.mode = 0o755 if found.st_mode & _EXECUTABLE else 0o644
            archive.addfile(member, content)
    else:
        raise typer.BadParameter(
            f"{one_line(path)} is a pipe, a socket or a device; only files, folders and links can be copied",
            param_hint=option,
        )


def _check(member: tarfile.TarInfo, option: str) -> None:
    """Whoever unpacks it would refuse it, too, but only once the job starts."""
    if not member.issym():
        return
    try:
        check_target(member, member.name.strip("/").count("/"))
    except BadArchive:
        told = f"{one_line(member.name)} is a link to {one_line(member.linkname)}, outside of what is copied"
        raise typer.BadParameter(told, param_hint=option) from None


def _all_in(folder: str) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise error

    for here, folders, files in os.walk(folder, onerror=fail):
        folders.sort()
        below = os.path.relpath(here, folder)
        for name in sorted((*folders, *files)):
            yield name if below == "." else os.path.join(below, name)


def _top(folder: str, option: str) -> str:
    try:
        top = os.fsdecode(_git(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n"))
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise typer.BadParameter(
            f"this folder is in no Git checkout: {one_line(said)}", param_hint=option
        ) from None
    except FileNotFoundError:
        raise typer.BadParameter("needs Git, which isn't installed here", param_hint=option) from None
    if os.path.realpath(folder) != os.path.realpath(top):
        talk(f"the job runs at the top of the checkout {one_line(top)}")
    return top


def _files_of(top: str) -> Iterator[str]:
    """Submodules are walked, too. Other checkouts that lie in it are left out, as Git does."""
    listed = _git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in dict.fromkeys(os.fsdecode(one) for one in listed.split(b"\0") if one):
        path = os.path.join(top, name)
        if name.endswith("/") or not os.path.lexists(path):
            continue  # removed, and not yet in a commit
        if os.path.isdir(path) and not os.path.islink(path):
            if os.path.lexists(os.path.join(path, ".git")):
                yield from (os.path.join(name, one) for one in _files_of(path))
        else:
            yield name


def _git(folder: str, *words: str) -> bytes:
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True).stdout


def _new_archive(folder: str) -> tempfile._TemporaryFileWrapper[bytes]:
    """Errors show its name, and so that of the folder."""
    name = os.path.basename(os.path.realpath(folder))
    return tempfile.NamedTemporaryFile(dir=_shelf().name, prefix=f"{name}-", suffix=".tar.gz", delete=False)


@cache
def _shelf() -> tempfile.TemporaryDirectory[str]:
    """It goes with this process."""
    return tempfile.TemporaryDirectory(prefix="rota-")
