from __future__ import annotations

import pytest

from rota.backends.kubernetes.outputs import Choice, Found, chosen, files_in, words_of

pytestmark = pytest.mark.covers("back-3")

FOUND = [Found("a b", 1), Found("d/x", 2), Found("d/y", 3), Found("big", 65 << 20)]


def test_a_listing_with_awkward_names() -> None:
    assert files_in(b"1 644 ./a b\x002 755 ./d/x\ny\x00") == [Found("a b", 1), Found("d/x\ny", 2)]
    assert files_in(b"") == []


@pytest.mark.parametrize(
    "outputs, choice",
    [
        (("d",), Choice(["d/x", "d/y"], [])),
        (("d/*", "d/x", "a b"), Choice(["a b", "d/x", "d/y"], [])),
        (("none",), Choice([], ["'none', which isn't there"])),
        (("big",), Choice([], ["'big' is larger than 64 MiB"])),
    ],
)
def test_what_is_kept(outputs: tuple[str, ...], choice: Choice) -> None:
    assert chosen(outputs, FOUND) == choice


def test_what_is_not_kept_is_told_of_the_first_ten() -> None:
    assert words_of([]) == ""
    assert words_of(["'a', which isn't there"]) == "not kept: 'a', which isn't there"
    assert words_of(["x"] * 12).endswith("not kept: x; not kept: 2 more")
