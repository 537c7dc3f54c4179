# SPDX-License-Identifier: MIT
"""timing.py: times GPU work of several contestants alternately in one process.

Each timed call follows a flush of the L2 cache and has its own pair of events. Each round runs all
contestants in a new random order, because the clock rate at the start of a block depends on the
preceding block. Short calls are queued after a kernel that only waits, so that the times exclude
the time that Python takes to launch the calls. The result is the median over rounds of each round's
median.
"""
import datetime
import os
import random
import statistics
import subprocess
import sys

import torch

METHOD = ("one process, the same buffers, random normal data; L2 flushed before each timed call; rounds in an order drawn anew; "
          "each contestant's best of its candidates by a short trial; the median of the rounds' medians")
SHORT_MS = 0.3
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


def _median_ms(call, repeats, is_short=True):
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    if is_short:
        torch.cuda._sleep(50_000 * repeats)
    for pair in pairs:
        _time_once(call, pair)
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in pairs)


def side_by_side(calls, rounds=9, repeats=12):
    """Returns {name: median milliseconds} for {name: call}."""
    is_short = {name: _median_ms(call, 3) < SHORT_MS for name, call in calls.items()}
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name in random.sample(list(calls), len(calls)):
            times[name].append(_median_ms(calls[name], repeats, is_short[name]))
    return {name: statistics.median(t) for name, t in times.items()}


def _output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout.strip()
    except OSError:
        return ""


def card():
    """Returns a description of the GPU, for the head of a file of results."""
    here = os.path.dirname(os.path.abspath(__file__))
    return {"device": torch.cuda.get_device_name(0),
            "driver": _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"), "torch": torch.__version__,
            "commit": os.environ.get("NESO_COMMIT") or _output("git", "-C", here, "rev-parse", "--short", "HEAD"),
            "command": " ".join(["python3", os.path.relpath(sys.argv[0])] + [os.path.basename(a) for a in sys.argv[1:]]),
            "date": datetime.date.today().isoformat(), "method": METHOD}
