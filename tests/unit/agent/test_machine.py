"""What operators say of a machine goes before what is found."""

from pathlib import Path

from rota.agent.machine import Machine, Offering
from rota.model.ids import NodeName
from rota.model.resources import Resources
from rota.model.taints import Effect, Taint


def test_what_was_said_and_what_was_found(tmp_path: Path) -> None:
    taint = Taint("k", Effect.NO_SCHEDULE)
    offering = Offering(Resources(cpu_milli=500), 7, "fast", (("disk", "ssd"), ("os", "mine")), (taint,))
    node = Machine(NodeName("n"), tmp_path, offering).look()
    spec = node.spec
    assert (spec.capacity.cpu_milli, spec.price_micro_per_hour, spec.pool) == (500, 7, "fast")
    assert spec.capacity.memory_bytes > 0
    labels = dict(spec.labels)
    assert (labels["disk"], labels["os"], labels["host"]) == ("ssd", "mine", "n")
    assert spec.taints == (taint,)
