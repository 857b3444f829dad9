"""What the keeper has to do once, so that its tasks can be kept apart from it and from each other."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from rota.backends.process.folders import Folders
from rota.backends.process.options import KeeperOptions
from rota.launch.account import has_rights
from rota.launch.accounts import Isolation, ProjectAccounts
from rota.launch.sandbox import Sandbox
from rota.launch.starting import Program, Streams, start

DEFAULT_ROOMS = "/var/lib/rota-rooms"


class Unfit(Exception):
    """This keeper can't keep tasks as it is told to; the text says why, and what to do."""


class Confined(NamedTuple):
    folders: Folders
    options: KeeperOptions
    sandbox: Sandbox | None
    lacking: Sequence[str]
    """What operators should know."""


def confine(folder: Path, options: KeeperOptions, name: str) -> Confined:
    """`name`: of this keeper. Raises Unfit and OSError."""
    confinement = options.confinement
    folders = Folders(folder)
    match confinement.isolation:
        case Isolation.PROJECT | Isolation.USER:
            if not has_rights():
                raise Unfit(
                    f"worker.isolation = {confinement.isolation.value!r} needs the right to start jobs as "
                    "other accounts; start rota-keeper.service, or set worker.isolation = 'sandbox'"
                )
            rooms = Path(confinement.rooms or DEFAULT_ROOMS) / name
            _make_reachable(rooms)
            folders = Folders(folder, rooms)
            folders.make()
            try:
                ProjectAccounts(folders.uids, *confinement.uids)
            except ValueError as error:
                raise Unfit(str(error)) from None
            return Confined(folders, options, None, ())
        case Isolation.SANDBOX:
            if os.geteuid() == 0:
                raise Unfit("root in a sandbox is still root; set worker.isolation = 'project' or 'user'")
            folders.make()
            sandbox = Sandbox((str(folders.root), *_homes(), *confinement.hidden), confinement.shared)
            refused = _tried(sandbox, folders)
            if not refused:
                return Confined(folders, options, sandbox, ())
            if not confinement.is_wish:
                raise Unfit(f"jobs can't be put into sandboxes here: {refused}")
            options = replace(options, confinement=replace(confinement, isolation=Isolation.NONE))
            return Confined(folders, options, None, (_exposed(f"there are no sandboxes: {refused}"),))
    folders.make()
    return Confined(folders, options, None, ())


def _exposed(why: str) -> str:
    return f"jobs run as Rota's own account and can read all that it can ({why}); see worker.isolation"


def _homes() -> tuple[str, ...]:
    homes = {os.path.expanduser("~"), os.environ.get("HOME", "")}
    return tuple(home for home in sorted(homes) if home.strip("/"))


def _make_reachable(rooms: Path) -> None:
    """Tasks of other accounts must be able to pass; none may list it, or put anything in."""
    try:
        rooms.mkdir(mode=0o711, parents=True, exist_ok=True)
        look = os.lstat(rooms)
        if not stat.S_ISDIR(look.st_mode) or look.st_uid != os.geteuid():
            raise Unfit(f"{rooms} isn't a folder of this account; remove it, or name another in worker.rooms")
        os.chmod(rooms, 0o711)
    except OSError as error:
        raise Unfit(f"{rooms} can't be used: {error.strerror}; name another folder in worker.rooms") from None
    for folder in rooms.parents:
        if not os.stat(folder).st_mode & stat.S_IXOTH:
            raise Unfit(
                f"jobs couldn't reach their folders in {rooms}: {folder} is closed to other users; "
                "name another folder in worker.rooms"
            )


def _tried(sandbox: Sandbox, folders: Folders) -> str:
    """Why there can be none; empty: it works."""
    end = folders.rooms / "trial.end"
    quiet = os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
    streams = Streams(quiet, quiet)
    try:
        child = start(Program(["/bin/true"], {"PATH": ""}, "/", sandbox=sandbox, end=str(end)), streams)
    except OSError as error:
        return str(error.strerror)
    finally:
        os.close(quiet)
        end.unlink(missing_ok=True)
    os.set_blocking(child.word, True)
    with os.fdopen(child.word, "rb") as word:
        said = word.read().decode(errors="replace")
    os.waitpid(child.pid, 0)
    return said
