"""Equal environments are one object, whoever submits them and however often."""

from __future__ import annotations

import msgspec
import pytest

from rota.control import environments as module
from rota.control.environments import Environments
from rota.intake.submissions import Submission, read_submission
from rota.model.ids import Labels


def submission(command: str, **environment: str) -> Submission:
    jobs = [{"command": [command], "environment": environment}, {"command": ["bare"]}]
    return read_submission(msgspec.json.encode({"jobs": jobs}), "default", "ada")


def environment_of(one: Submission) -> Labels:
    return one.entries[0].spec.run.environment


@pytest.mark.covers("first-1")
class TestEnvironments:
    def test_equal_ones_are_one(self) -> None:
        known = Environments()
        first, second = (known.shared(submission(name, A="1", B="2")) for name in ("make", "test"))
        assert environment_of(first) == (("A", "1"), ("B", "2"))
        assert environment_of(first) is environment_of(second)
        assert second.entries[0].spec.run.command == ("test",)
        assert second.entries[1].spec.run.environment == ()

    def test_others_are_not(self) -> None:
        known = Environments()
        known.shared(submission("make", A="1"))
        assert environment_of(known.shared(submission("make", A="2"))) == (("A", "2"),)

    def test_who_has_none_is_left_as_it_is(self) -> None:
        bare = submission("make")
        assert Environments().shared(bare) is bare

    def test_those_of_shells_that_are_gone_are_not_held_for_ever(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MOST", 2)
        known = Environments()
        first = [environment_of(known.shared(submission("make", A=value))) for value in "1213"]
        assert first[0] is first[2]
        assert environment_of(known.shared(submission("make", A="1"))) is first[0]
        assert environment_of(known.shared(submission("make", A="2"))) is not first[1]
