"""How much one request may hold, as servers and clients know it."""

from __future__ import annotations

MOST_JOBS = 1000
"""To submit with one request, an array counting as one."""
MOST_SHOWN = 1000
"""Jobs that an answer shows at once; the rest is listed page by page."""
BODY_BYTES = 2**20
"""Size of a request's body, unless the settings of a server say otherwise. Files are uploaded separately."""
