"""Commands, and the words for what the engine and the server say in data. Nothing is decided here.

    main.py ──► commands/NAME.py ──► plan/ why/ extend/ sim/ replay/   of files: asks the engine right here
    the list    its options          live/                             of a running server: asks that

`main.py` is what a shell starts. It imports little: a command is imported when it is asked for, and
brings along what it needs, so that `rota --help` and shell completion answer at once.
"""
