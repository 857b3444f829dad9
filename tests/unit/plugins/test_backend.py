"""Only nodes of certain backends."""

import pytest

from rota.plugins.backend import BackendFilter, NotOfBackend
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged

pytestmark = pytest.mark.covers("decide-1")

BACKENDS = Cluster().node("a", backend="kube").node("b", backend="slurm").node("c")


@pytest.mark.parametrize(
    ("backends", "passes"),
    [
        ((), ["a", "b", "c"]),
        (("slurm",), ["b"]),
        (("slurm", "local"), ["b", "c"]),
        (("lambda",), []),
    ],
)
def test_nodes_of_the_backends_that_are_named(backends: tuple[str, ...], passes: list[str]) -> None:
    assert Judged(BackendFilter(), BACKENDS, spec={"backends": backends}).passes == passes


def test_the_reason_names_the_backends() -> None:
    judged = Judged(BackendFilter(), BACKENDS, spec={"backends": ("slurm", "local")})
    assert judged.reasons == {"a": [NotOfBackend(("slurm", "local"))]}
