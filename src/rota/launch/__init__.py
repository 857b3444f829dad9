"""How a task's process is started, and as whom. Called by the keeper alone.

    starting.py    the forked child: from a copy of the keeper to the task's own program
    account.py     the Unix account that a task runs as; acting as it for a moment
    calls.py       the system calls that Python has no name for

Whatever is the user's (a directory, a program, the folders in PATH) is touched in the child only, after it
has given up all that the task isn't to have.
"""
