"""Jobs as somebody could mean them, with as much of everything as comes to mind."""

from __future__ import annotations

from random import Random
from typing import Any

Form = dict[str, Any]


def a_job(random: Random) -> Form:
    job: Form = {"command": ["true"], "time_limit": "1m"}
    for _ in range(random.choice((0, 1, 2, 4, 8))):
        job.update(random.choice(_PARTS)(random))
    if "script" in job:
        del job["command"]
    if "groups" in job:
        job.pop("tasks", None)
    return job


def jobs(random: Random) -> Form:
    return {"jobs": [a_job(random) for _ in range(random.choice((1, 1, 1, 2, 5, 40)))]}


def _many(random: Random) -> int:
    return random.choice((1, 1, 2, 2, 5, 5, 16, 30, 64, 200))


def _labels(random: Random) -> dict[str, str]:
    return {f"l{at}": f"v{random.randrange(3)}" for at in range(_many(random))}


def _selector(random: Random) -> Form | list[Form]:
    key, value = f"l{random.randrange(3)}", f"v{random.randrange(3)}"
    return random.choice(
        (
            {key: value},
            [{"key": key, "operator": "In", "values": [f"v{at}" for at in range(_many(random))]}],
            [{"key": key, "operator": "DoesNotExist"}],
        )
    )


def _groups(random: Random) -> Form:
    return {
        "groups": [
            {"tasks": random.choice((1, 1, 3)), "labels": {"g": str(at)}, "resources": {"cpu": "1m"}}
            for at in range(_many(random))
        ]
    }


def _affinity(random: Random) -> Form:
    terms = []
    for _ in range(_many(random)):
        term: Form = {"to": _selector(random), "within": random.choice(("host", "zone", "rack"))}
        if random.random() < 0.5:
            term["anti"] = True
        if random.random() < 0.5:
            term["weight"] = random.randrange(1, 101)
        terms.append(term)
    return {"affinity": terms}


_PARTS = (
    lambda random: {"name": f"job-{random.randrange(5)}"},
    lambda random: {
        "resources": {"cpu": random.choice((0, "1m", 1, 64)), "memory": random.choice(("1Mi", "1Ti"))}
    },
    lambda random: {
        "tasks": random.choice((1, 2, 50, 1000)),
        "min_available": random.choice((1, "50%", "100%")),
    },
    lambda random: {"labels": _labels(random)},
    _groups,
    _affinity,
    lambda random: {
        "spread": [{"over": "zone", "of": _selector(random)} for _ in range(random.choice((1, 2, 30)))]
    },
    lambda random: {"node_selector": _labels(random)},
    lambda random: {
        "node_affinity": {"required": [{"labels": _selector(random)} for _ in range(_many(random))]}
    },
    lambda random: {"tolerations": [f"key{at}=v:NoSchedule" for at in range(_many(random))]},
    lambda random: {"array": random.choice(("0-9", "0-2999", "0-99:7", 20))},
    lambda random: {"depends_on": [random.randrange(1, 50) for _ in range(random.choice((1, 3, 100)))]},
    lambda random: {"environment": {f"V{at}": "x" * 20 for at in range(_many(random))}},
    lambda random: {"retry": {"limit": random.choice((1, 1000)), "backoff": random.choice(("0s", "1s"))}},
    lambda random: {"priority": random.choice(("low", "batch", "medium", "medium", 2**31 - 1))},
    lambda random: {"queue": random.choice(("default", "default", "default", "nowhere"))},
    lambda random: {"project": random.choice(("vision", "vision", "vision", "other"))},
    lambda random: {"gpus": random.choice((0.5, 1, 8, 1000))},
    lambda random: {"hold": True},
    lambda random: {
        "command": ["cat"],
        "stdin": random.choice(("pipe", "terminal", "none")),
        "resources": {"cpu": "1m"},
        "time_limit": "5s",
    },
    lambda random: {"script": "#!/bin/sh\n" + "true\n" * _many(random)},
    lambda random: {"start_before": "2030-01-01T00:00:00Z", "deadline": "2031-01-01T00:00:00Z"},
    lambda random: {"exclusive": True},
    lambda random: {"outputs": [f"out/{at}" for at in range(_many(random))]},
    lambda random: {"directory": random.choice(("/tmp", "/no/such/folder", "/proc/1/root", "relative"))},
)
