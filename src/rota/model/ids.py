"""Names of things, kept apart by type so that a job's id is never passed for a node's."""

from typing import NewType

JobId = NewType("JobId", str)
TaskName = NewType("TaskName", str)
NodeName = NewType("NodeName", str)
QueueName = NewType("QueueName", str)

Labels = tuple[tuple[str, str], ...]
"""Label pairs sorted by key: hashable, and equal whenever the labels are."""

DEFAULT_PROJECT = "default"
"""Of jobs that name none, where nothing else says which."""
