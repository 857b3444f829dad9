"""What is wrong with an object, wherever it came from."""

from typing import TypeAlias

FieldPath: TypeAlias = tuple[str | int, ...]
"""The way from the top of an object to a field: keys of mappings, indexes of lists."""


class FieldError(ValueError):
    """An invalid value; `path` begins at the object."""

    def __init__(self, path: FieldPath, problem: str, remedy: str = "") -> None:
        super().__init__(path, problem, remedy)
        self.path = path
        self.problem = problem
        self.remedy = remedy


class PodError(FieldError):
    """An invalid value of one of several pods that were read together."""

    def __init__(self, pod: str, path: FieldPath, problem: str, remedy: str = "") -> None:
        super().__init__(path, problem, remedy)
        self.pod = pod


class TooFewPods(PodError):
    """More pods are to start together than there are: others may come."""
