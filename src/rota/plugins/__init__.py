"""The built-in rules about nodes, one module each, in the order in which nodes are asked.

What changes while a plan is made (resources, affinity between jobs, spreading, quotas) is the
engine's own bookkeeping; what only depends on a node's properties is here. NAMED are plugins that
policies may name, like those from outside.
"""

from rota.engine.plugin import NodeFilter, NodeScore, Plugins
from rota.plugins.backend import BackendFilter
from rota.plugins.gpu_model import GpuModelFilter
from rota.plugins.images import ImageScore
from rota.plugins.memory import MemoryFilter
from rota.plugins.node_affinity import NodeAffinityFilter, NodeAffinityScore
from rota.plugins.node_gpu import NodeGpuFilter
from rota.plugins.node_name import NodeNameFilter
from rota.plugins.node_ready import NodeReadyFilter
from rota.plugins.node_selector import NodeSelectorFilter
from rota.plugins.packing import NAMED
from rota.plugins.pool import PoolFilter
from rota.plugins.price import PriceFilter
from rota.plugins.proximity import ProximityScore
from rota.plugins.taints import TaintFilter
from rota.plugins.volumes import VolumeFilter

FILTERS: tuple[NodeFilter, ...] = (
    NodeNameFilter(),
    PoolFilter(),
    BackendFilter(),
    NodeSelectorFilter(),
    NodeAffinityFilter(),
    GpuModelFilter(),
    NodeGpuFilter(),
    TaintFilter(),
    PriceFilter(),
    NodeReadyFilter(),
    MemoryFilter(),
    VolumeFilter(),
)
SCORES: tuple[NodeScore, ...] = (NodeAffinityScore(), ProximityScore(), ImageScore())

BUILT_IN = Plugins(FILTERS, SCORES)

__all__ = ["BUILT_IN", "FILTERS", "NAMED", "SCORES"]
