"""An agent's tasks have ended before the server says that they are lost, whatever the network does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.backends.agents.terms import Terms

DEFAULT = Terms()


def test_the_defaults() -> None:
    assert (DEFAULT.lost_after_ms, DEFAULT.heartbeat_ms, DEFAULT.grace_ms) == (60_000, 5_000, 10_000)
    assert (DEFAULT.lease_ms, DEFAULT.given_up_after_ms, DEFAULT.look_each_ms) == (54_000, 57_000, 250)


@pytest.mark.covers("agent-6")
@given(
    st.integers(3_000, 3_600_000),
    st.integers(0, 3_600_000),
    st.floats(0.99, 1.01),
    st.integers(0, 10**9),
)
def test_the_lease_ends_first(lost_after_ms: int, way_ms: int, rate: float, sent_ms: int) -> None:
    """`way_ms`: how long the last word took. `rate`: of the agent's clock, against the server's."""
    terms = Terms(lost_after_ms)
    gone_ms = sent_ms + terms.lease_ms / rate
    lost_ms = sent_ms + way_ms + terms.given_up_after_ms
    assert gone_ms < lost_ms


@given(st.integers(3_000, 3_600_000))
def test_some_heartbeats_may_be_missed_before_anything_happens(lost_after_ms: int) -> None:
    terms = Terms(lost_after_ms)
    assert terms.silent_after_ms >= 3 * terms.heartbeat_ms
    assert terms.lease_ms - terms.grace_ms >= 7 * terms.heartbeat_ms
    assert terms.lease_ms - terms.grace_ms > terms.silent_after_ms


@given(st.integers(3_000, 3_600_000))
def test_there_is_time_to_start_elsewhere(lost_after_ms: int) -> None:
    """When whoever looks for silence has just looked as the time is up."""
    terms = Terms(lost_after_ms)
    given_up_ms = terms.given_up_after_ms + terms.look_each_ms
    assert lost_after_ms - given_up_ms >= lost_after_ms // 30
