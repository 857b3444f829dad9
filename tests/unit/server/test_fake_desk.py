"""The fake desk takes what the desks take: else routes would be tested against something that isn't there."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from rota.server.identity.minting import Mint
from rota.server.routes import ROUTES
from tests.unit.server.fake_desk import FakeDesk
from tests.unit.server.fake_operators import FakeAgents, FakeSecrets

KINDS = sorted({kind for route in ROUTES for kind in route.desks} - {Mint}, key=lambda kind: kind.__name__)
FAKES = {"SecretsDesk": FakeSecrets, "Enrolment": FakeAgents, "Invitations": FakeAgents}


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_the_same(kind: type) -> None:
    fake: Any = FAKES.get(kind.__name__, FakeDesk)
    both = [name for name in vars(kind) if not name.startswith("_") and callable(getattr(fake, name, None))]
    assert both
    for name in both:
        assert _parameters(getattr(fake, name)) == _parameters(getattr(kind, name)), name


def _parameters(method: Any) -> list[tuple[str, object]]:
    return [(one.name, one.default) for one in inspect.signature(method).parameters.values()]
