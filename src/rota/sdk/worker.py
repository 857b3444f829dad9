"""Runs one call of a `rota.Executor`, as a job: `python -m rota.sdk.worker` in the folder with its files.

The exit status is 0 if the function returned and 1 if it raised; either way the outcome is in a file.
"""

from __future__ import annotations

import os
import pickle
import sys

from rota.sdk import payload


def main() -> int:
    index = int(os.environ.get("ROTA_ARRAY_INDEX", "0"))
    status = 0
    try:
        outcome = payload.returned(_called(index))
    except BaseException as error:
        outcome = payload.raised(error)
        status = 1
        if not isinstance(error, SystemExit):
            sys.excepthook(type(error), error, error.__traceback__)
    _write(outcome)
    return status


def _called(index: int) -> object:
    with open(payload.CALLS_FILE, "rb") as file:
        module_path, arguments = payload.unpacked(file, index)
    # What could be imported there can be here, if it is the same machine or file system.
    sys.path += [entry for entry in module_path if entry not in sys.path]
    with open(payload.FUNCTION_FILE, "rb") as file:
        function = pickle.load(file)
    args, kwargs = pickle.loads(arguments)
    return function(*args, **kwargs)


def _write(outcome: bytes) -> None:
    """All of it or nothing: half a result must not be taken for one."""
    unfinished = f"{payload.RESULT_FILE}.part"
    with open(unfinished, "wb") as file:
        file.write(outcome)
    os.replace(unfinished, payload.RESULT_FILE)


if __name__ == "__main__":
    sys.exit(main())
