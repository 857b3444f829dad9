"""What plugins from outside say about the nodes for one kind of task, as the board changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from rota.engine.placing.board import Board, Devices
from rota.engine.placing.score import FULL, REFUSED, SCALE
from rota.engine.plugin import FULL_SCORE, ActivePlugin, Ask, Plugin, StateView, TaskView
from rota.model.policy import SchedulerPolicy
from rota.model.reasons import RefusedByPlugin
from rota.model.resources import GpuRequest
from rota.model.verdict import Reason
from rota.snapshot.arrays import Bools, Int64s


class Opinions:
    def __init__(
        self,
        task: TaskView,
        board: Board,
        scheduler: SchedulerPolicy,
        active: Sequence[ActivePlugin],
        ask: Ask,
    ) -> None:
        self._task = task
        self._board = board
        self._utilisation = scheduler.weights.utilisation
        self._active = [one for one in active if one.plugin.filters or one.plugin.scores]
        self._device_choosers = [one for one in active if one.plugin.chooses_devices]
        self._ask = ask
        self.on_nodes = bool(self._active)
        self.on_devices = bool(self._device_choosers)
        self._scores_now: Int64s | None = None
        self._changed_seen = 0

    def scores(self) -> Int64s:
        """What plugins add to the score (REFUSED where one refuses), asked anew for changed nodes."""
        changed = self._board.changed
        if self._scores_now is None:
            self._scores_now = self._asked(np.arange(len(self._board.nodes)))
        elif self._changed_seen < changed.length:
            positions = np.unique(changed.since(self._changed_seen))
            self._scores_now[positions] = self._asked(positions)
        self._changed_seen = changed.length
        return self._scores_now

    def _asked(self, at: Int64s) -> Int64s:
        score = np.zeros(len(at), dtype=np.int64)
        refused = np.zeros(len(at), dtype=np.bool_)
        for one in self._active:
            passed = self._mask(one, at)
            if passed is not None:
                refused |= ~passed
            rated = self._rating(one, at)
            if rated is not None:
                weight = self._utilisation if one.is_selection else one.config.weight
                score += SCALE * weight * rated * (FULL // FULL_SCORE)
        return np.where(refused, REFUSED, score)

    def _state(self) -> StateView:
        return StateView(self._board.nodes, *self._board.read_only())

    def _mask(self, one: ActivePlugin, at: Int64s) -> Bools | None:
        if not one.plugin.filters:
            return None
        state = self._state()

        def call() -> object:
            passed = np.asarray(one.plugin.filter_rows(self._task, state, at))
            if passed.dtype != np.bool_ or passed.shape != at.shape:
                raise ValueError("filter_rows must give one boolean a node")
            return passed

        answer = self._ask(one.config.name, "filter", call)
        return answer if isinstance(answer, np.ndarray) else None

    def _rating(self, one: ActivePlugin, at: Int64s) -> Int64s | None:
        if not one.plugin.scores or not (one.config.weight or one.is_selection):
            return None
        state = self._state()

        def call() -> object:
            scores = np.asarray(one.plugin.score_rows(self._task, state, at))
            if scores.dtype.kind not in "iu" or scores.shape != at.shape:
                raise ValueError("score_rows must give one whole number a node")
            if len(scores) and (scores.min() < 0 or scores.max() > FULL_SCORE):
                raise ValueError(f"scores must lie between 0 and {FULL_SCORE}")
            return scores.astype(np.int64)

        answer = self._ask(one.config.name, "score", call)
        return answer if isinstance(answer, np.ndarray) else None

    def chosen_devices(self, position: int) -> Devices | None:
        """The devices that a plugin wants for the task on this node; None: no plugin cares."""
        if not self._device_choosers:
            return None
        state = self._state()
        free = state.node(position).free_devices()
        for one in self._device_choosers:

            def call(plugin: Plugin = one.plugin) -> object:
                chosen = plugin.choose_devices(self._task, state, position)
                if chosen is not None:
                    _check_devices(chosen, free, self._task.demand.gpu)
                return chosen

            answer = self._ask(one.config.name, "choose_devices", call)
            if isinstance(answer, tuple):
                return answer
        return None

    def refusals(self) -> Iterator[tuple[Reason, Bools]]:
        """What plugins from outside say against nodes, in their own words."""
        if not self._active:
            return
        state = self._state()
        everywhere = np.arange(len(self._board.nodes))
        for one in self._active:
            passed = self._mask(one, everywhere)
            if passed is None or passed.all():
                continue
            words: dict[str, Bools] = {}
            for at in np.flatnonzero(~passed).tolist():
                call = partial(one.plugin.filter, self._task, state.node(at))
                text = self._ask(one.config.name, "filter", call)
                mask = words.setdefault(str(text or ""), np.zeros(len(passed), dtype=np.bool_))
                mask[at] = True
            for text, refused in sorted(words.items(), key=lambda item: item[0]):
                yield RefusedByPlugin(one.config.name, text), refused

    def criteria(self, position: int) -> dict[str, int]:
        """What each says of one node, 0 to FULL, unweighted."""
        rated = ((one, self._rating(one, np.array([position]))) for one in self._active)
        return {
            "utilisation" if one.is_selection else one.config.name: int(rating[0]) * (FULL // FULL_SCORE)
            for one, rating in rated
            if rating is not None
        }

    def weights(self) -> dict[str, int]:
        """The weight of each that has a criterion of its own."""
        return {
            one.config.name: one.config.weight
            for one in self._active
            if one.plugin.scores and one.config.weight and not one.is_selection
        }


def _check_devices(chosen: Devices, free: Sequence[int], request: GpuRequest) -> None:
    if not (isinstance(chosen, tuple) and all(type(device) is int for device in chosen)):
        raise ValueError("choose_devices must give a tuple of device numbers, or None")
    if len(chosen) != request.count or len(set(chosen)) != len(chosen):
        raise ValueError(f"choose_devices must give {request.count} different devices")
    for device in chosen:
        if not (0 <= device < len(free) and free[device] >= request.share_milli):
            raise ValueError(f"device {device} has no room for the task")
