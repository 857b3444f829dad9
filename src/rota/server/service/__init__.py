"""The server as a process of an operator's machine: checked before it starts, reloaded while it runs."""
