"""What one task asks of the node it runs on. Equal specs are placed with one computation."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.model.ids import Labels
from rota.model.resources import GpuRequest, HostPort, Resources
from rota.model.selectors import NodeTerm, Operator, PreferredNodeTerm, Requirement, Selector
from rota.model.taints import Toleration

CPU, MEMORY, GPU, OTHERS = "cpu", "memory", "gpu", "others"
"""What a job may leave open. Others: all other resources, its limits, and what its runtime takes."""
CLUSTER_KEY = "\0cluster"
"""Topology key under which all nodes together are one domain."""
_PRIVATE = "\0"
"""Labels that begin with it are Rota's own: nobody else can give them."""


class JobAffinity(Struct, frozen=True, cache_hash=True):
    """Near to, or away from, the tasks that the selector selects, within one topology domain."""

    topology_key: str
    selector: Selector
    namespaces: tuple[str, ...] = ()
    """Empty: the job's own namespace. ("*",): all of them."""
    anti: bool = False
    weight: int | None = None
    """None: required. A number: preferred with this weight."""
    claim: str = ""
    """Not a wish for distance: the selected tasks use this claim, which only one task at a time may, wherever
    it runs."""

    @property
    def is_required(self) -> bool:
        return self.weight is None


ENDING = (f"{_PRIVATE}ending", "")
"""The label of a task that was told to end and still runs: its room is taken, and others keep their distance,
but a spread may leave it out."""
NOT_ENDING = Requirement(ENDING[0], Operator.DOES_NOT_EXIST)


def one_at_a_time(claim: str) -> tuple[tuple[str, str], JobAffinity]:
    """A label that nobody else gives, and a rule that no two tasks with it run at the same time."""
    label = f"{_PRIVATE}claim {claim}"
    selector = Selector((Requirement(label, Operator.EXISTS),))
    return (label, ""), JobAffinity(CLUSTER_KEY, selector, anti=True, claim=claim)


class Spread(Struct, frozen=True, cache_hash=True):
    """Selected tasks are spread over the domains so that no two differ by more than `max_skew`."""

    topology_key: str
    max_skew: int
    selector: Selector
    required: bool = True
    min_domains: int = 1
    honor_affinity: bool = True
    """Only nodes that the task's selector and required affinity admit make domains and count."""
    honor_taints: bool = False
    """Only nodes whose taints the task tolerates do."""


class InDomains(Struct, frozen=True, cache_hash=True):
    """Selected tasks, of however many jobs, are in `count` domains together: the first ones each in another,
    all others where one of them is. They are of the task's own namespace, which is its project unless it says
    otherwise."""

    topology_key: str
    count: int
    selector: Selector


class VolumeTrouble(Enum):
    """What is the matter with nodes on which a volume can't be used."""

    LIMIT = "volume limit"
    """They hold as many volumes as they can."""
    OUT_OF_REACH = "volume affinity"
    ZONE = "volume zone"
    """They are in another zone than the volume."""
    UNBOUND = "no volume to bind"
    """They have no volume for the claim."""
    SPACE = "no space for a volume"


class VolumeNodes(Struct, frozen=True, cache_hash=True):
    """Where a volume can be used: on nodes where one of the terms holds."""

    terms: tuple[NodeTerm, ...]
    """Empty: nowhere."""
    otherwise: VolumeTrouble = VolumeTrouble.OUT_OF_REACH
    """What is the matter with the other nodes."""


class CostGoal(Enum):
    NONE = "none"
    CHEAPEST = "cheapest"


class TaskSpec(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    requests: Resources = Resources()
    limits: Resources = Resources()
    unlimited: tuple[str, ...] = ()
    """Resources of which it may use more than it asks for, as much as the node has."""
    left_open: tuple[str, ...] | None = None
    """What its user didn't state. Defaults are filled in when the job comes in, and nothing is open then.
    None: nobody noted it (pods, traces); what is 0 wasn't stated then, and nothing is assumed of it."""
    overhead: Resources = Resources()
    """What the runtime (a sandbox such as Kata) takes on top; set at admission."""
    gpu: GpuRequest = GpuRequest()
    ports: tuple[HostPort, ...] = ()
    exclusive: bool = False
    labels: Labels = ()
    node_selector: Labels = ()
    node_affinity: tuple[NodeTerm, ...] = ()
    """Alternatives: one must hold. Empty: no condition."""
    volume_nodes: tuple[VolumeNodes, ...] = ()
    """For each of its volumes that can't be used everywhere."""
    attached: tuple[tuple[str, int], ...] = ()
    """What it takes of volumes, by the names of `model/resources.py`."""
    images: tuple[str, ...] = ()
    """Of its containers: better where they are already."""
    preferred_nodes: tuple[PreferredNodeTerm, ...] = ()
    job_affinity: tuple[JobAffinity, ...] = ()
    spread: tuple[Spread, ...] = ()
    in_domains: tuple[InDomains, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    pools: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    near: Labels = ()
    """Where its data is: node labels (region, zone, rack …) that make a node near."""
    platform: str = ""
    runtime: str = ""
    cost_goal: CostGoal = CostGoal.NONE
    max_price_micro_per_hour: int | None = None
    node_gpu_models: tuple[str, ...] = ()
    """Models of GPU of which its node must have one, whatever of it the task takes; empty means any."""
    of_its_node: bool = False
    """It belongs to the node, as a daemon does: who has the node for itself has it beside this."""
    node_name: str = ""
    """Set by somebody who has chosen the node already: no other will do."""

    @property
    def minds_others(self) -> bool:
        """Whether it matters where tasks of other jobs are."""
        return bool(self.job_affinity or self.spread or self.in_domains)
