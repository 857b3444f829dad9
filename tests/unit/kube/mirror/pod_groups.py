"""Pod groups as the API server sends them."""

from __future__ import annotations

from typing import Any

import msgspec

from rota.kube.api.objects import PodGroup


def group(least: int | None = None, **roles: int) -> PodGroup:
    spec: dict[str, Any] = {"minMember": least, "minTaskMember": roles or None}
    return msgspec.convert({"metadata": {"name": "g", "namespace": "default"}, "spec": spec}, PodGroup)
