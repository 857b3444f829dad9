"""How jobs with an image and nodes that run images find each other: by a fact of the node, and a taint."""

from __future__ import annotations

from rota.model.node import FACTS
from rota.model.taints import Effect, Taint, Toleration

RUNS_IMAGES = (f"{FACTS}containers", "yes")
"""The label of nodes that run a job's image. Jobs that name an image select it."""
IMAGE_NEEDED = Taint(f"{FACTS}image", Effect.NO_SCHEDULE, "needed")
"""Of nodes that have no image for jobs that name none. Jobs that do tolerate it."""
HAS_IMAGE = Toleration(IMAGE_NEEDED.key, value=IMAGE_NEEDED.value, effect=IMAGE_NEEDED.effect)
