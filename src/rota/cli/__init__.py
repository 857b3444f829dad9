"""Commands, and the words for what the engine and the server say in data. Nothing is decided here.

    main.py ──► ROOM/commands.py ──► ROOM/*.py     the work of a command, its words and its tables
    the list    arguments, options       │
                                         ├──► client/     how commands reach a server
                                         └──► terminal/   what only a terminal needs

The rooms are jobs, questions, cluster, people, agents, services and policies.

`main.py` is what a shell starts. It imports little, and a room's `commands.py` imports only what declares
options: the work is imported when a command is called. So `rota --help` and completion answer at once.
"""
