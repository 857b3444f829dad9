"""Records and a policy → a plan: the shell around the pure engine.

It holds what the engine may not: the clock, threads, and plugins that strangers wrote. Called by
`cli/` for files.
"""
