"""Where a command runs, and with which environment: as here, unless its options say otherwise.

rota run -- make                in this folder, with this environment, on a node that has the folder
rota run --dir build -- make    the same, in another folder of this machine
rota run --dir /data -- make    in that folder of whichever node it runs on
rota run --file in.csv -- make  in a folder of its own, to which the files are copied, on any node
rota run --clean -- make        in an empty folder, with nothing of this environment
rota run --image I -- make      the same, in a container of that image
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from rota.cli.job_options import JobOptions
from rota.intake.submissions import is_variable
from rota.machine_facts import folder_label

Form = dict[str, Any]

_NOT_TAKEN = frozenset(
    # Who and where one is, which is for the node to say; and what belongs to this session alone.
    [
        "HOME",
        "USER",
        "LOGNAME",
        "MAIL",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "TMPDIR",
        "COLUMNS",
        "LINES",
        "_",
        "CUDA_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
    ]
)
_NEVER_TAKEN = ("ROTA_", "SLURM_")
"""Rota's own: tokens, addresses, and what the job that this runs in knows of itself."""


class Surroundings(NamedTuple):
    """What a job takes along, besides what it says itself."""

    directory: str = ""
    """Empty: a new folder for each task."""
    environment: Mapping[str, str] = {}
    node_selector: Mapping[str, str] = {}
    """Nodes that have the directory."""


def surroundings_of(
    job: Mapping[str, object], options: JobOptions, environment: Mapping[str, str]
) -> Surroundings:
    """`job`: as the options say. `environment`: of this process."""
    if options.clean:
        return Surroundings()
    if options.image:
        # What there is here says nothing about an image.
        return Surroundings()
    named = (job.get("environment"), job.get("secrets"))
    known = {name for one in named if isinstance(one, Mapping) for name in one}
    taken = {name: value for name, value in own_environment(environment).items() if name not in known}
    given = job.get("directory")
    directory = given if isinstance(given, str) else "" if "files" in job else os.getcwd()
    is_here = bool(directory) and not (options.directory and os.path.isabs(options.directory))
    selector = dict([folder_label(os.path.realpath(directory))]) if is_here else {}
    return Surroundings(directory, taken, selector)


def as_here(job: Mapping[str, object], options: JobOptions, environment: Mapping[str, str]) -> Form:
    """A job for a command."""
    here = surroundings_of(job, options, environment)
    filled: Form = dict(job)
    if here.directory:
        filled["directory"] = here.directory
    for field, taken in (("environment", here.environment), ("node_selector", here.node_selector)):
        if taken:
            filled[field] = {**taken, **filled.get(field, {})}
    return filled


def own_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of the environment of this process that goes along with a job."""
    return {
        name: value
        for name, value in environment.items()
        if name not in _NOT_TAKEN
        and not name.startswith(_NEVER_TAKEN)
        and is_variable(name)
        and _is_text(value)
    }


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
