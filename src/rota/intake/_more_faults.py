"""What else is wrong with a job, once one thing is: so that whoever wrote it mends all of it in one go.

Reading stops at the first value that makes no sense. What is found wrong is left out, or replaced by
something that is right, and the job is read again. A job that is right is read once.
"""

import dataclasses
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from rota.intake.checking.convert import MAX_ERRORS
from rota.intake.checking.fields import Field
from rota.intake.errors import FieldPath, InputError

_STAND_INS: dict[str, object] = {
    "name": "stand-in",
    "command": ["true"],
    "script": "true",
    "directory": "/",
    "time_limit": "3650d",
}
"""Of fields without which others would be wrong."""


def all_faults(first: InputError, at: Field, read: Callable[[Field], object]) -> tuple[InputError, ...]:
    """The first, and those that are found without it. `at`: the item of a list that can't be read. `read`:
    reads what stands in that place of a changed document, and changes nothing else."""
    found, last = list(first.all), first.all
    data = deepcopy(at.data)
    while len(found) < MAX_ERRORS:
        if not all(_mend(data, one.path[len(at.path) :]) for one in last):
            break
        try:
            read(_in_place(at, data))
            break
        except InputError as error:
            known = {one.path for one in found}
            last = tuple(one for one in error.all if one.path not in known)
            if not last:
                break
            found += last
    return tuple(found)


def _mend(data: Any, path: FieldPath) -> bool:
    """False: the fault is none of a field that could be left out."""
    # Without an item of a list, those behind it would have other numbers.
    steps = path[: next((at for at, step in enumerate(path) if isinstance(step, int)), len(path))]
    if not steps:
        return False
    *outer, last = steps
    for step in outer:
        data = data.get(step) if isinstance(data, dict) else None
    if not isinstance(data, dict) or last not in data:
        return False
    if not outer and last in _STAND_INS:
        data[last] = _STAND_INS[str(last)]
    else:
        del data[last]
    return True


def _in_place(at: Field, data: object) -> Field:
    *outer, index = at.path
    whole = at.document.data
    assert isinstance(whole, dict)
    assert isinstance(index, int)
    [name] = outer
    items = list(whole[name])
    items[index] = data
    return Field(dataclasses.replace(at.document, data={**whole, name: items}), at.path)
