"""Nodes that have the images of a task's containers: it starts there without fetching them first.

Large images count for more. An image that few nodes have counts for less than one that most have, so that
not all tasks go to the node that happened to be first.
"""

import numpy as np

from rota.engine.plugin import FULL_SCORE, Rating, TaskView
from rota.snapshot.nodes import NodeColumns

_MB = 1024 * 1024
LEAST_BYTES = 23 * _MB
"""Less than this is fetched in no time."""
MOST_BYTES = 1000 * _MB
"""More than this, for each container, makes no further difference."""


class ImageScore:
    """Of the same criterion as nearness to data; a task that says where its data is goes by that."""

    criterion = "proximity"

    def rate(self, task: TaskView, nodes: NodeColumns) -> Rating | None:
        images = task.spec.images
        if not images or not nodes.images or task.spec.near:
            return None
        there = np.zeros(len(nodes), dtype=np.int64)
        for image in images:
            sizes = np.fromiter((held.get(image, 0) for held in nodes.images), np.int64, len(nodes))
            there += sizes * np.count_nonzero(sizes) // len(nodes)
        most = MOST_BYTES * len(images)
        rated = (np.clip(there, LEAST_BYTES, most) - LEAST_BYTES) * FULL_SCORE // (most - LEAST_BYTES)
        return Rating(rated) if rated.any() else None
