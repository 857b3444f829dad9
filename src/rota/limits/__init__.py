"""What users may ask for and hold: which limits count for a job, and what of it goes beyond them.

Pure: the clock and all counts come from outside. `control` asks when jobs come in, the engine when they are
to start, `server` when somebody asks for their own.
"""
