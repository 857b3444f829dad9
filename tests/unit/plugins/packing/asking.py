"""A packing plugin, asked about the nodes of a cluster as they are."""

from __future__ import annotations

from collections import Counter
from typing import Unpack

import numpy as np

from rota.engine.placing.board import Board
from rota.engine.plugin import Plugin, StateView, TaskView
from rota.model.ids import NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.plugins.packing.mix import Mix, kind_of
from rota.snapshot import snapshot_of
from tests.builders import Cluster
from tests.words import TaskWords, task


class Asked:
    def __init__(self, plugin: Plugin, cluster: Cluster, **words: Unpack[TaskWords]) -> None:
        spec = task(words)
        group = TaskGroup(spec)
        snapshot = snapshot_of(cluster.job("asked", groups=[group]).records)
        self.nodes = snapshot.nodes
        self.state = StateView(snapshot.nodes, *Board(snapshot).read_only())
        self.task = TaskView(JobTemplate((group,)), spec, snapshot.demand(spec))
        self.plugin = plugin
        plugin.prepare([], snapshot.nodes)

    def scores(self) -> dict[str, int]:
        everywhere = np.arange(len(self.nodes))
        found = self.plugin.score_rows(self.task, self.state, everywhere).tolist()
        return dict(zip(self.nodes.names, found, strict=True))

    def devices(self, node: str) -> tuple[int, ...] | None:
        return self.plugin.choose_devices(self.task, self.state, self.nodes.position[NodeName(node)])


def mix(*tasks: tuple[int, TaskWords]) -> Mix:
    count: Mix = Counter()
    for number, words in tasks:
        count[kind_of(task(words))] += number
    return count
