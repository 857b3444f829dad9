"""Answers as objects: those that can be read, and those that can't."""

from typing import Any

import msgspec
import pytest
from msgspec import json

from rota.kube.api.decoding import ChangeKind, ObjectDecoder, Unreadable, WatchFailed, status_in
from rota.kube_objects.objects.pods import Pod

PODS = ObjectDecoder(Pod)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": "7", "managedFields": [{}]}, "spec": spec}


BROKEN = pod("broken", tolerations=[{"operator": "Sometimes"}])


def test_a_page() -> None:
    answer = {"metadata": {"resourceVersion": "9", "continue": "more"}, "items": [pod("a"), pod("b")]}
    page = PODS.page(json.encode(answer))
    assert [one.metadata.name for one in page.items] == ["a", "b"]
    assert (page.resource_version, page.continue_token, page.unreadable) == ("9", "more", [])


def test_an_empty_page() -> None:
    page = PODS.page(b'{"metadata": {"resourceVersion": "9"}, "items": null}')
    assert (page.items, page.continue_token) == ([], "")


@pytest.mark.covers("kube-5")
def test_one_that_cant_be_read_hides_no_others() -> None:
    answer = {"metadata": {"resourceVersion": "9"}, "items": [pod("a"), BROKEN, pod("b")]}
    page = PODS.page(json.encode(answer))
    assert [one.metadata.name for one in page.items] == ["a", "b"]
    [unreadable] = page.unreadable
    assert unreadable.metadata.name == "broken"
    assert "$.spec.tolerations[0].operator" in unreadable.problem


def test_what_is_no_list_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        PODS.page(b"<html>")
    with pytest.raises(msgspec.DecodeError):
        PODS.page(b'{"kind": "Something"}')


def change(kind: str, found: Any) -> bytes:
    return json.encode({"type": kind, "object": found})


@pytest.mark.parametrize("kind", [ChangeKind.ADDED, ChangeKind.MODIFIED, ChangeKind.DELETED])
def test_changes(kind: ChangeKind) -> None:
    told = PODS.change(change(kind.value, pod("a")))
    assert told is not None
    assert isinstance(told.object, Pod)
    assert (told.kind, told.object.metadata.name, told.resource_version) == (kind, "a", "7")


def test_a_bookmark_has_a_version_only() -> None:
    told = PODS.change(change("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "8"}}))
    assert told == (ChangeKind.BOOKMARK, None, "8")


def test_a_change_that_cant_be_read_still_has_a_version() -> None:
    told = PODS.change(change("ADDED", BROKEN))
    assert told is not None
    assert isinstance(told.object, Unreadable)
    assert told.resource_version == "7"


def test_what_is_new_in_the_api_is_passed_over() -> None:
    assert PODS.change(change("SOMETHING", {})) is None


def test_the_end_of_a_watch() -> None:
    with pytest.raises(WatchFailed) as raised:
        PODS.change(change("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}))
    assert raised.value.status.code == 410


def test_refusals_in_words_of_a_proxy() -> None:
    status = status_in(b"<h1>Bad gateway</h1>", 502)
    assert (status.code, status.message) == (502, "<h1>Bad gateway</h1>")
    assert status_in(b"{}", 503).code == 503
