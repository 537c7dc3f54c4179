"""Timing of GPU work side by side in one process.

Each timed call follows a flush of the L2 cache and has its own pair of events; rounds go through all contestants in an order
drawn anew, since a block inherits the clock that its predecessor left. The result is the median over rounds of each
round's median.
"""
import random
import statistics

import torch

_flush = None


def _time_once(call, events):
    global _flush
    if _flush is None:
        _flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    _flush.zero_()
    start, end = events
    start.record()
    call()
    end.record()


def _median_ms(call, repeats):
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for pair in pairs:
        _time_once(call, pair)
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in pairs)


def side_by_side(calls, rounds=9, repeats=12):
    """{name: call} to {name: median milliseconds}."""
    for call in calls.values():
        _median_ms(call, 3)
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name in random.sample(list(calls), len(calls)):
            times[name].append(_median_ms(calls[name], repeats))
    return {name: statistics.median(t) for name, t in times.items()}


def card():
    import subprocess
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                            capture_output=True, text=True).stdout.strip()
    return {"device": torch.cuda.get_device_name(0), "driver": driver, "torch": torch.__version__}
