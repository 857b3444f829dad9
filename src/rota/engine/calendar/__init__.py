"""Time: what is free when, which starts are planned or promised, and what stands in the way.

`decide` asks the `Agenda`; everything else here is behind it.
"""
