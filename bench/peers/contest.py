# SPDX-License-Identifier: MIT
"""contest.py: runs one contest. It compares the results of every contestant's candidates with torch, chooses each contestant's fastest
candidate in a short trial, measures the chosen candidates, and writes the row. If a contestant fails, its row has the error, and the
other contestants continue."""
import json
import time

import timing
import torch

CLOSE = 1.03  # candidates within this factor of the fastest candidate's time have a second trial


class Contestant:
    """A contestant. `candidates` is {label: function that makes the call}; `result` is the tensor that a call writes, or None if the
    call returns it; `wrong(tensor)` returns a description of the error in a result, or None."""

    def __init__(self, name, candidates, result, wrong, fill=float("nan")):
        self.name, self.candidates, self.result, self.wrong, self.fill = name, candidates, result, wrong, fill


class Results:
    """The rows of a table. The table is written to disk after each added row."""

    def __init__(self, path):
        self.path, self.rows, self.card, self.started = path, [], timing.card(), time.time()

    def add(self, row):
        self.rows.append(row)
        with open(self.path, "w") as f:
            f.write(json.dumps(self.card, indent=1)[:-2] + ',\n "rows": [\n  ')
            f.write(",\n  ".join(json.dumps(r) for r in self.rows) + "\n ]\n}\n")


def first_line(e):
    return (str(e).strip().splitlines() or [type(e).__name__])[0][:200]


def far_from(expected, most):
    """Returns a `wrong` for Contestant that accepts a relative error of at most `most`, over the whole tensor."""
    size = expected.norm()

    def wrong(result):
        error = ((result.float() - expected).norm() / size).item()
        return None if error <= most else f"wrong: relative error {error:.3g}"
    return wrong


def _ready(contestant):
    """Returns {label: call} of the candidates that work, and {label: reason} of those that fail."""
    calls, errors = {}, {}
    for label, make in contestant.candidates.items():
        try:
            if contestant.result is not None:
                contestant.result.fill_(contestant.fill)
            call = make()
            returned = call()
            torch.cuda.synchronize()
            why = contestant.wrong(returned if contestant.result is None else contestant.result)
        except Exception as e:  # the candidate fails, for example because it needs too much shared memory
            why = first_line(e)
        if why:
            errors[label] = why
        else:
            calls[label] = call
    return calls, errors


def _trial(ready):
    """Returns the fastest candidate of each contestant: {name: (label, call, {label: ms})}. Candidates with similar times are timed
    again."""
    flat = {(name, label): call for name, calls in ready.items() if len(calls) > 1 for label, call in calls.items()}
    times = timing.side_by_side(flat, rounds=3, repeats=5)
    least = {name: min(ms for (who, _), ms in times.items() if who == name) for name, _ in times}
    close = {key: flat[key] for key, ms in times.items() if ms <= CLOSE * least[key[0]]}
    times.update(timing.side_by_side(close, rounds=9, repeats=4))
    best = {}
    for name, calls in ready.items():
        mine = {label: ms for (who, label), ms in times.items() if who == name}
        if calls:
            label = min((label for who, label in close if who == name), key=mine.get, default=next(iter(calls)))
            best[name] = (label, calls[label], mine)
    return best


def run(results, group, work, unit, amount, contestants, base, rounds, repeats):
    """Measures all contestants and adds a row to the results. `amount` divided by milliseconds is a rate in `unit`. Prints every
    contestant's rate, and the ratio of neso's rate to the rate of `base`."""
    started, ready, errors = time.time(), {}, {}
    for c in contestants:
        ready[c.name], errors[c.name] = _ready(c)
    best = _trial(ready)
    times = timing.side_by_side({name: b[1] for name, b in best.items()}, rounds, repeats) if best else {}
    shown = []
    for c in contestants:
        row = {"group": group, "work": work, "who": c.name, "unit": unit}
        if c.name in times:
            ms, (label, _, trial) = times[c.name], best[c.name]
            row.update(config=label, ms=round(ms, 6), rate=round(amount / ms, 2), trial={k: round(t, 6) for k, t in trial.items()})
            against = f" ({times[base] / ms:.3f})" if base in times and c.name != base else ""
            shown.append(f"{c.name} {amount / ms:.0f}{against}" + (f" [{label}]" if label else ""))
        else:
            shown.append(f"{c.name} FAILED")
        if errors[c.name]:
            row["errors"] = errors[c.name]
        results.add(row)
    print(f"{work:20} " + "  ".join(shown) + f"  {unit}; {time.time() - started:.1f} s", flush=True)
    for c in contestants:
        for label, why in errors[c.name].items():
            print(f"    {c.name} {label}: {why}", flush=True)
