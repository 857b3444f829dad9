"""Whatever stands in a manifest, it is read or refused with the field's name: nothing else is raised."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.intake.documents.document import parse_documents, read_documents
from rota.intake.errors import FieldPath, InputError
from rota.intake.kubernetes import read_cluster

CLUSTER = Path(__file__).parents[3] / "data" / "kubernetes" / "cluster.yaml"
[DOCUMENT] = read_documents(CLUSTER)


def paths(data: object, path: FieldPath = ()) -> Iterator[FieldPath]:
    items: Any = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, inner in items:
        yield (*path, step)
        yield from paths(inner, (*path, step))


ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "-1", "1e99", "50%", "a/b", "Exists", "2024-05-02T09:40:01Z", "\x00", "é"]),
    st.text(max_size=5),
    st.lists(st.none() | st.text(max_size=2), max_size=2),
    st.dictionaries(st.text(max_size=3), st.none() | st.integers() | st.text(max_size=2), max_size=2),
)


@pytest.mark.covers("ops-3")
@given(path=st.sampled_from(list(paths(DOCUMENT.data))), value=ODD_VALUES)
def test_any_value_in_any_field(path: FieldPath, value: object) -> None:
    data: Any = deepcopy(DOCUMENT.data)
    parent = data
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    faults: tuple[InputError, ...] = ()
    try:
        read_cluster(parse_documents(json.dumps(data).encode(), "cluster.json"))
    except InputError as error:
        faults = error.all
    assert all(fault.file == "cluster.json" and fault.line for fault in faults)
