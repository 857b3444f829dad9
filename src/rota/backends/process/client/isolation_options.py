"""From settings to what the keeper is told of isolation."""

from __future__ import annotations

import os
from collections.abc import Iterable

import structlog

from rota.launch.account import has_rights
from rota.launch.accounts import Confinement, Isolation
from rota.settings.paths import SYSTEM_FILE, default_files, user_file
from rota.settings.settings import Worker

_FOLDERS_OF_SETTINGS = (os.path.dirname(SYSTEM_FILE), os.path.dirname(user_file(os.environ)))

log = structlog.get_logger()


def is_root_refused(worker: Worker) -> str:
    """Why it isn't to run as root; empty: it may, or it doesn't."""
    if os.geteuid() != 0 or worker.allow_root:
        return ""
    return (
        "it isn't to run as root: whatever goes wrong would go wrong with root's rights; "
        "give it an account of its own, or say --allow-root (docs/process-backend.md)"
    )


def confinement_of(worker: Worker, *, is_shared: bool, hidden: Iterable[str]) -> Confinement:
    """`is_shared`: others than whoever started us can submit jobs. `hidden`: what no sandbox shows."""
    isolation, is_wish = _chosen(worker.isolation, is_shared)
    if isolation is Isolation.NONE and os.geteuid() == 0:
        log.warning("isolation.root")
    elif isolation is Isolation.NONE:
        log.warning("isolation.none", uid=os.geteuid())
    else:
        log.info("isolation.active", isolation=isolation.value)
    first, _, last = worker.uids.partition("-")
    return Confinement(
        isolation,
        (int(first), int(last)),
        dict(each.partition("=")[::2] for each in worker.accounts),
        worker.rooms,
        _absolute((*hidden, *default_files(os.environ), *_FOLDERS_OF_SETTINGS)),
        worker.shared_folders,
        is_wish,
    )


def _absolute(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({os.path.abspath(path) for path in paths if path}))


def _chosen(stated: str, is_shared: bool) -> tuple[Isolation, bool]:
    """And whether tasks may run without it where it can't be had."""
    if stated != "auto":
        return Isolation(stated), False
    if has_rights():
        return Isolation.PROJECT, False
    return (Isolation.SANDBOX, True) if is_shared else (Isolation.NONE, False)
