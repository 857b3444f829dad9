"""`rota backup` and `rota restore`: what they say."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rota.cli.exits import EX_BAD_INPUT, EX_OK
from rota.cli.output import talk
from rota.settings.load import load_settings
from rota.settings.paths import default_files
from rota.views.amounts import count_text


def backup(
    target: str, files: Sequence[str], flags: Mapping[str, object], *, secrets: bool, with_files: bool
) -> int:
    used = (*default_files(os.environ), *files)
    settings = load_settings(used, os.environ, flags)
    from rota.server.copies.backup import Wanted, make_copy
    from rota.server.copies.errors import CopyError
    from rota.store.errors import StoreError

    try:
        manifest = make_copy(Path(target).absolute(), settings, used, Wanted(secrets, with_files))
    except (CopyError, StoreError) as error:
        talk(str(error))
        return EX_BAD_INPUT
    held = f"{count_text(manifest.jobs, 'job')} and {count_text(manifest.tokens, 'token')}"
    talk(f"{target} has {held}; keep it private")
    if not secrets:
        talk("the key of secrets and passwords in settings are left out; --with-secrets adds them")
    if not with_files:
        talk("output and files of jobs are left out; --with-files adds them")
    return EX_OK


def restore(source: str, files: Sequence[str], flags: Mapping[str, object], *, force: bool) -> int:
    settings = load_settings((*default_files(os.environ), *files), os.environ, flags)
    from rota.server.copies.errors import CopyError
    from rota.server.copies.restore import put_back
    from rota.server.leading.epoch import EpochError
    from rota.server.service.own_folder import FolderTaken
    from rota.store.errors import StoreError

    try:
        done = put_back(Path(source).absolute(), settings, force=force)
    except (CopyError, FolderTaken, EpochError, StoreError) as error:
        talk(str(error))
        return EX_BAD_INPUT
    manifest = done.manifest
    talk(f"{settings.server.data} has the {manifest.jobs:,} jobs and {manifest.tokens:,} tokens of {source}")
    if done.aside is not None:
        talk(f"the database that was there is in {done.aside}")
    if done.policy is not None:
        talk(f"the policy is in {done.policy}; it was {manifest.policy}: name it in server.policy")
    if not manifest.has_key:
        talk("the copy has no key of secrets: put secrets.key there, or set the secrets of projects again")
    talk("tasks that ran when the copy was made are looked for when the server starts")
    return EX_OK
