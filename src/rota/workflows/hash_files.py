"""`hashFiles(…)`: one hash of all files that patterns select; empty where there are none."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from rota.workflows.expressions.errors import ExpressionError, Stage
from rota.workflows.expressions.evaluator import Function, Lazy
from rota.workflows.expressions.functions import MOST_ARGUMENTS
from rota.workflows.expressions.parser import Arity
from rota.workflows.expressions.values import Value, to_string
from rota.workflows.globs import GlobError, files_in


def hash_files_in(workspace: Path) -> Function:
    root = workspace.absolute()

    def call(arguments: Sequence[Lazy]) -> Value:
        try:
            return hashed(root, [to_string(one()) for one in arguments])
        except (GlobError, OSError) as error:
            raise ExpressionError(Stage.EVALUATION, f"hashFiles: {error}") from None

    return Function(Arity(1, MOST_ARGUMENTS), call)


def hashed(workspace: Path, patterns: Sequence[str]) -> str:
    """The hash of the hashes, so that what is in one file can't be moved to the next unseen."""
    whole, count = hashlib.sha256(), 0
    for path in files_in(workspace, patterns):
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
        count += 1
    return whole.hexdigest() if count else ""
