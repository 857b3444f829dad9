"""What differs between two policies, in the words of their files."""

from __future__ import annotations

from rota.api.service import ChangedField
from rota.server.service.differences import differences


def test_entries_of_lists_are_known_by_their_names_wherever_they_stand() -> None:
    before = {"queues": [{"name": "default"}, {"name": "desk", "order": -1}], "reclaim": "any"}
    after = {"queues": [{"name": "desk", "order": 2, "pools": ["a"]}, {"name": "default"}]}
    assert differences(before, after) == [
        ChangedField(field="queues[desk].order", before="-1", after="2"),
        ChangedField(field="reclaim", before="any", after=None),
        ChangedField(field="queues[desk].pools", before=None, after='["a"]'),
    ]


def test_equal_files_differ_in_nothing() -> None:
    assert differences({"a": {"b": [1, 2]}}, {"a": {"b": [1, 2]}}) == []
    assert differences({}, {}) == []
