"""Our scheduler and kube-scheduler say the same of the same pods; `make differential` tries more of them."""

from __future__ import annotations

import asyncio

import pytest

from tests.real.conftest import missing
from tests.real.kube.conftest import new_namespace
from tests.real.kube.control_plane import ControlPlane, Missing
from tests.real.kube.differential import compare, start_rivals

CLUSTERS = 60


@pytest.mark.slow
@pytest.mark.covers("kube-3", "kube-7", "kube-9")
def test_same_pods_same_verdicts() -> None:
    try:
        control_plane = ControlPlane()
    except Missing as error:
        missing(str(error))
    with control_plane:
        namespace = new_namespace(control_plane.cluster)
        start_rivals(control_plane)
        assert not asyncio.run(compare(control_plane, namespace, range(1, CLUSTERS + 1)))
