"""Runs several commands at the same time, in a program with an event loop.

rota server &
python examples/sdk/several_at_once.py
"""

import asyncio

import rota

COMMANDS = (("uname", "-a"), ("sleep", "2"), ("false",))


async def main() -> None:
    async with rota.AsyncClient() as client:
        jobs = await asyncio.gather(*(client.run(*command, check=False) for command in COMMANDS))
    for job in jobs:
        print(f"{job.id:>4}  {job.phase.value:10} {job.command}")


if __name__ == "__main__":
    asyncio.run(main())
