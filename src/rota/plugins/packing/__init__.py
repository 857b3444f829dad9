"""Ways to pack tasks onto GPUs, for policies to name (`strategy: custom`, `plugin: gpu-packing`).

`gpu-packing` is Rota's own; `fgd` and `best-fit-gpu` are published ones, to compare it with. Whatever a
plugin has to know of the tasks that will come it learns from those that run and wait, or from its setting
`mix` (see `mix.py`).
"""

from collections.abc import Mapping

from rota.engine.plugin import Plugin
from rota.plugins.packing.best_fit import BestFitGpu
from rota.plugins.packing.fgd import FragmentationGradient
from rota.plugins.packing.gpu_packing import GpuPacking

NAMED: Mapping[str, type[Plugin]] = {
    plugin.name: plugin for plugin in (BestFitGpu, FragmentationGradient, GpuPacking)
}
