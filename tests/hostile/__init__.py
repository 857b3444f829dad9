"""Inputs that nobody sane would send, to a real server and to every reader, by seeds.

    seed, number ──► one input, always the same ──► a server's REST and gRPC doors, or a reader right here
                                                      │
    Watch: answers 500? silence of the loop? memory? ◄┘

`make hostile` runs it for ten minutes; tests/real/hostile/test_fuzz.py runs a little of it in every test run.
"""
