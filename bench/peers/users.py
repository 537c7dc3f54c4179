# SPDX-License-Identifier: MIT
"""users.py: times kernels in the style of users (bench/programs/users.py), compiled by neso and by Triton,
alternately.

    python3 bench/peers/users.py OUT.txt [NESO]

Each compiler's kernels run ROUNDS times, each time in a new process; the smallest of the medians counts. The script
prints a table, and writes it to OUT.txt.
"""
import os
import re
import subprocess
import sys

import timing

ROUNDS = 2
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "..", "programs", "users.py")


def times_of(command, found):
    done = subprocess.run([*command, PROGRAM], capture_output=True, text=True, timeout=240, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    for name, us in re.findall(r"^(.*?) +([\d.]+) us$", done.stdout, re.M):
        found[name] = min(float(us), found.get(name, float("inf")))


def main():
    out, neso = sys.argv[1], (sys.argv[2:] or [os.path.join(HERE, "..", "..", "build", "neso")])[0]
    who = {"neso": [neso, "run", "--device", "cuda"], "triton": [sys.executable]}
    found = {name: {} for name in who}
    for turn in range(ROUNDS):
        for name in sorted(who, reverse=turn % 2 == 1):
            times_of(who[name], found[name])
    card = timing.card()
    lines = [f"{card['device']}, driver {card['driver']}, commit {card['commit']}, {card['date']}: {card['command']}", "",
             "| us | neso | triton | / triton |", "| --- | --- | --- | --- |"]
    lines += [f"| {name} | {us:.2f} | {found['triton'][name]:.2f} | {found['triton'][name] / us:.3f} |"
              for name, us in found["neso"].items() if name in found["triton"]]
    with open(out, "w", encoding="utf-8") as f:
        print("\n".join(lines), file=f)
    print("\n".join(lines))


main()
