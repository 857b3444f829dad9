"""Groups of tasks are found as by asking each one, by what anybody sees of a task's labels."""

from hypothesis import given
from hypothesis import strategies as st

from rota.engine.placing.selected import Group, GroupIndex
from rota.model.selectors import Operator, Requirement, Selector

_KEYS = st.sampled_from("abc")
_VALUES = st.sampled_from(["0", "1", "2", "7", "x", "y", "", "\0"])
_NAMESPACES = st.sampled_from(["n", "m"])


@st.composite
def _requirements(draw: st.DrawFn) -> Requirement:
    key, operator = draw(_KEYS), draw(st.sampled_from(Operator))
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        return Requirement(key, operator)
    if operator in (Operator.GT, Operator.LT):
        return Requirement(key, operator, (str(draw(st.integers(-1, 3))),))
    return Requirement(key, operator, tuple(draw(st.lists(_VALUES, min_size=1, max_size=2, unique=True))))


_GROUPS = st.builds(
    Group,
    st.builds(Selector, st.lists(_requirements(), max_size=2).map(tuple)),
    st.lists(st.sampled_from(["n", "m", "*"]), min_size=1, max_size=2).map(tuple),
)
_LABELS = st.dictionaries(_KEYS, _VALUES).map(lambda labels: tuple(sorted(labels.items())))


@given(st.lists(_GROUPS, max_size=8), _NAMESPACES, st.lists(_LABELS, min_size=1, max_size=4))
def test_the_groups_of_a_task(
    groups: list[Group], namespace: str, tasks: list[tuple[tuple[str, str], ...]]
) -> None:
    index = GroupIndex()
    for group in groups:
        index.add(group)
    for labels in tasks:
        expected = [group for group in dict.fromkeys(groups) if group.includes(namespace, labels)]
        assert index.including(namespace, labels) == expected
        assert index.including(namespace, index.seen(labels)) == expected
        assert index.seen(index.seen(labels)) == index.seen(labels)
