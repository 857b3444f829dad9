"""Why a copy isn't made or put back."""

from __future__ import annotations


class CopyError(Exception):
    """What is wrong, and what to do."""
