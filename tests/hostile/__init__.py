"""Inputs that nobody sane would send, to a real server, to every reader and to the client, by seeds.

    seed, number ──► one input, always the same ──► a server's REST and gRPC doors, its sign-in,
                                                    a reader, the client or a command right here
                                                      │
    Watch: answers 500? silence of the loop? memory? ◄┘

Requests are for every route: by tokens, by cookies of browsers, by an agent that was let in (`guests.py`).

`make hostile` runs it for ten minutes; tests/real/hostile/test_fuzz.py runs a little of it in every test run.
"""
