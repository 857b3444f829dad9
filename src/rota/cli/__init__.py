"""Commands, and the words for what the engine says in data. Nothing is decided here.

`main.py` is what a shell starts. It imports little: each command brings along what it needs, so
that `rota --help` and shell completion answer at once.
"""
