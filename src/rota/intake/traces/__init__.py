"""Readers of workload traces: files of other schedulers, generators and archives, for the simulator.

`files.read_workload` is the entry: it finds out what a file is. Each format has a module that turns it
into the same small model (`rota.model.workload`). A line is read, refused with its number and column, or
left out on purpose and counted in the workload's notes; none is skipped silently.
"""
