"""Jobs that need licensed software go where it is installed; all others had better stay away."""

from rota.engine.plugin import FULL_SCORE, NodeView, Plugin, TaskView


class Licences(Plugin):
    """A job says `labels: {licence: matlab}`, a node `labels: {licence/matlab: "yes"}`.

    Settings: `label`, the jobs' label, which is also what the nodes' labels begin with.
    """

    def __init__(self, settings: dict[str, str]) -> None:
        super().__init__(settings)
        self._label = settings.get("label", "licence")

    def filter(self, task: TaskView, node: NodeView) -> str | None:
        wanted = self._wanted(task)
        if wanted is None or wanted in self._installed(node):
            return None
        return f"no licence for {wanted}"

    def score(self, task: TaskView, node: NodeView) -> int:
        """Who needs no licence should leave the licensed nodes to those who do."""
        if self._wanted(task) is None and self._installed(node):
            return 0
        return FULL_SCORE

    def _wanted(self, task: TaskView) -> str | None:
        return dict(task.spec.labels).get(self._label)

    def _installed(self, node: NodeView) -> set[str]:
        prefix = f"{self._label}/"
        return {key.removeprefix(prefix) for key in node.labels if key.startswith(prefix)}
