"""Where somebody goes on after signing in: a path of this server, whatever the link says."""

from __future__ import annotations

import re

from rota.server.http.problems import bad_input

HOME = "/"
LONGEST = 1000
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*", re.ASCII)
"""One slash, and then whatever may be in a URL. Browsers take `//` as the beginning of a host, read a
backslash as a slash, and leave out tabs and line breaks."""


def local_path(text: str) -> str:
    if not text:
        return HOME
    if len(text) > LONGEST or not _LOCAL.fullmatch(text):
        raise bad_input("return", "is not a path of this server", "write it like /v1/me, or leave it out")
    return text
