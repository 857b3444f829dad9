"""Where a task goes: which nodes will do, how good each is, gangs, topology; on a board that can undo."""
