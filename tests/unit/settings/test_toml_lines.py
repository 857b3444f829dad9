"""On which line a key stands."""

import pytest

from rota.settings.toml_lines import KeyPath, lines_of_keys, nearest_line

TEXT = '''top = 1
# [no.table]
[a]
b = """
c = 2
"""
"d e" = [
  1,
]
f.g = {h = 1}
[[i.j]]
k = \'\'\'x\'\'\'
l = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 1),
        (("a",), 3),
        (("a", "b"), 4),
        (("a", "c"), 3),
        (("a", "d e"), 7),
        (("a", "f", "g"), 10),
        (("a", "f", "g", "h"), 10),
        (("i", "j", "k"), 12),
        (("i", "j", "l"), 13),
        (("z",), None),
    ],
)
def test_the_line_of_a_key(path: KeyPath, line: int | None) -> None:
    assert nearest_line(lines_of_keys(TEXT), path) == line
