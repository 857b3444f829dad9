"""What agents of these tests are set to."""

from __future__ import annotations

SETTINGS = """
[server]
embedded_worker = false
[agents]
address = "127.0.0.1"
port = 0
"""
