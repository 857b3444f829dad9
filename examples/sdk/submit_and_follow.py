"""Submits a job, prints what it writes while it runs, and says how it ended.

rota server &
python examples/sdk/submit_and_follow.py
"""

import sys

import rota

SCRIPT = """\
for step in 1 2 3; do
    echo "step $step"
    sleep 1
done
"""


def main() -> int:
    with rota.Client() as client:
        [job] = client.submit({"name": "steps", "script": SCRIPT, "time_limit": "1m"}).jobs
        print(f"job {job.id} is submitted")
        for chunk in client.logs(job.id, follow=True):
            sys.stdout.buffer.write(chunk.data)
            sys.stdout.flush()
        ended = client.wait(job.id)
        print(f"job {ended.id}: {ended.phase.value}")
        return 0 if ended.succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
