"""The pods that controllers would make now: of Deployments, Jobs and their like, from the objects alone.

Each module knows some kinds: how many pods, under which names and labels, and which of them start together.
Called by `rota.intake.kubernetes`, which reads each pod as any other.
"""
