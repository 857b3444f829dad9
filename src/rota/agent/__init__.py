"""`rota agent`: the process on a machine that works for a server elsewhere.

    attendance.py ──Attend──►  server        a thread of its own: hello, heartbeats, the lease
      crew.py ◄── orders ──┘                 who is to do what, in order
      performance.py ──Perform──►  server    one for each task: its start, stages and output
      rest.py ──REST──►            server    input files, outputs, results
        └─► keeper: rota.backends.process    starts, limits and ends tasks, with or without an agent

The agent may be killed and started anew, also as another version: tasks belong to the keeper. The server's
side is `rota.backends.agents`; docs/agents.md says what operators can rely on. Called by `cli`.
"""
