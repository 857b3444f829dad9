"""Messages of agents, possible and impossible: strategies of Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from rota.wire import agents_pb2 as wire

numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)
words = st.text(st.characters(codec="utf-8"), max_size=300)
refs = st.builds(wire.TaskRef, job=words | st.just("1"), rank=numbers, fence=numbers)
nodes = st.builds(
    wire.Node,
    capacity=st.builds(
        wire.Resources,
        cpu_milli=numbers,
        memory_bytes=numbers,
        storage_bytes=numbers,
        slots=numbers,
        extended=st.dictionaries(words, numbers, max_size=3),
    ),
    gpus=numbers,
    gpu_model=words,
    pool=words,
    labels=st.dictionaries(words, words, max_size=3),
    taints=st.lists(st.builds(wire.Taint, key=words, value=words, effect=words), max_size=2),
    price_micro_per_hour=numbers,
    load_milli=numbers,
    message=words,
)
hellos = st.builds(
    wire.Hello,
    protocol=st.just(1) | st.integers(-(2**31), 2**31 - 1),
    version=words,
    name=st.just("a") | words,
    instance=words,
    node=nodes,
    tasks=st.lists(refs, max_size=3),
    clock_ms=numbers,
    draining=st.booleans(),
)
