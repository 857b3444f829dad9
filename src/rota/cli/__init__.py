"""Commands, and the words for what the engine and the server say in data. Nothing is decided here.

    main.py ──► commands/NAME.py ──► jobs/ cluster/ people/ agents/   ask a running server, through client/
    the list    its options          questions/ policies/             ask the engine, of files or a server
                                     services/                        start a server, agent or scheduler

`main.py` is what a shell starts. It imports little: a command is imported when it is asked for, and
brings along what it needs, so that `rota --help` and shell completion answer at once.
"""
