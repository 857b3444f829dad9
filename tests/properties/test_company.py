"""The order of groups that must be near others is that of the obvious way, circles included."""

from hypothesis import given
from hypothesis import strategies as st

from rota.engine.placing.company import company_order
from tests.reference import company as reference

_SIZE = 8
_KINDS = st.frozensets(st.integers(0, 4), max_size=3)


@given(
    st.permutations(range(_SIZE)),
    st.lists(_KINDS, min_size=_SIZE, max_size=_SIZE),
    st.lists(_KINDS, min_size=_SIZE, max_size=_SIZE),
)
def test_the_order_is_that_of_the_obvious_way(
    wished: list[int], wants: list[frozenset[int]], offers: list[frozenset[int]]
) -> None:
    assert company_order(wished, wants, offers) == reference.company_order(wished, wants, offers)
