"""Records → a frozen, indexed, column-major view that the engine computes on.

`ClusterState` takes records and changes as they come and hands out a `Snapshot` with a
generation number. Strings become small integers on the way in, so that the engine compares
arrays. Called by `loop/`; knows nothing of policies or decisions.
"""

from rota.snapshot.state import ClusterState, Snapshot, snapshot_of

__all__ = ["ClusterState", "Snapshot", "snapshot_of"]
