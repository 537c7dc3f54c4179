# SPDX-License-Identifier: MIT
"""report.py: prints recorded results: a table for each group, and whether each goal is met.

    python3 bench/report.py FILE.json... [-o ALL.json]

If several files have the same row, the last one counts; -o writes all rows to one file. A ratio is
neso's speed divided by another contestant's.
"""
import json
import math
import os
import sys

EACH, MEAN = "each", "geometric mean"
# group: the contestants shown besides neso, and goals (contestant, EACH or MEAN, the least ratio)
GROUPS = {
    "announced": (("cublas", "reference", "triton", "triton persistent"),
                  [("cublas", MEAN, 1.01), ("cublas", EACH, 0.98), ("reference", EACH, 0.99), ("triton", MEAN, 1.15)]),
    "layouts": (("cublas",), [("cublas", EACH, 0.95)]),
    "types": (("cublas",), [("cublas", EACH, 0.95)]),
    "decode": (("cublas",), [("cublas", EACH, 1.00)]),
    "softmax": (("copy", "triton", "torch"), [("copy", EACH, 0.97), ("triton", EACH, 1.00)]),
    "norms": (("triton", "torch", "copy"), [("triton", EACH, 1.05), ("torch", EACH, 1.5)]),
    "add": (("torch", "triton", "copy"), [("torch", EACH, 1.00)]),
    "rows": (("triton", "torch", "copy"), [("triton", EACH, 0.99), ("triton", MEAN, 1.08)]),
    "mma": (("triton", "cublas"), []),
}
UNJUDGED = ("add f32 2^24",)


def merge(paths):
    card, rows = {}, {}
    for path in paths:
        with open(path) as f:
            data = json.load(f)
        for row in data.pop("rows"):
            rows[row["group"], row["work"], row["who"]] = {**row, "commit": row.get("commit") or data.get("commit", ""),
                                                           "date": row.get("date") or data.get("date", "")}
        card = data
    return card, rows


def part_of(group, work):
    """Returns the kind of a work (its first word). Means are computed for each kind."""
    return work.split()[0] if group in ("announced", "norms") else group


def lines_of(rows, group):
    """Returns (shown name, work, contestant) for each row of neso."""
    return [(f"{work} {who[5:]}".strip(), work, who) for g, work, who in rows if g == group and who.split()[0] == "neso"]


def ratio(rows, group, work, who, base):
    a, b = rows.get((group, work, who), {}), rows.get((group, work, base), {})
    return b["ms"] / a["ms"] if "ms" in a and "ms" in b else None


def table(rows, group):
    bases, lines = GROUPS[group][0], lines_of(rows, group)
    unit = next((r["unit"] for (g, _, _), r in rows.items() if g == group and r["unit"]), "")
    bases = [b for b in bases if any((group, work, b) in rows for _, work, _ in lines)]
    print(f"\n| {group}, {unit} | neso | " + " | ".join(bases) + " | " + " | ".join("/ " + b for b in bases) + " | neso's choice |")
    print("| --- |" + " --- |" * (2 + 2 * len(bases)))
    for name, work, who in lines:
        row = rows[group, work, who]
        rates = [f"{r['rate']:.0f}" if "rate" in r else "failed" for r in [row] + [rows.get((group, work, b), {}) for b in bases]]
        ratios = [ratio(rows, group, work, who, b) for b in bases]
        print(f"| {name} | " + " | ".join(rates + [f"{x:.3f}" if x else "" for x in ratios] + [row.get("config", "")]) + " |")


def judge(rows, group):
    """Returns [(whether the goal is met, text)]."""
    verdicts = []
    lines = [line for line in lines_of(rows, group) if line[1] not in UNJUDGED]
    for part in dict.fromkeys(part_of(group, work) for _, work, _ in lines):
        for base, how, least in GROUPS[group][1]:
            found = {name: ratio(rows, group, work, who, base) for name, work, who in lines if part_of(group, work) == part}
            known = {name: x for name, x in found.items() if x}
            missing = f", {len(found) - len(known)} of {len(found)} without a time" if len(known) < len(found) else ""
            if not known:
                verdicts.append((False, f"{part} / {base}: no times"))
                continue
            mean = math.exp(sum(math.log(x) for x in known.values()) / len(known))
            below = [f"{name} {x:.3f}" for name, x in known.items() if round(x, 3) < least]
            is_met = not missing and (round(mean, 3) >= least if how == MEAN else not below)
            text = f"{part} / {base}, {how} at least {least}: geometric mean {mean:.3f}, least {min(known.values()):.3f}{missing}"
            verdicts.append((is_met, text + ("; under it: " + ", ".join(below) if how == EACH and below else "")))
    return verdicts


def show(paths):
    card, rows = merge(paths)
    print("\n" + ", ".join(f"{key} {card.get(key)}" for key in ("device", "driver", "torch", "commit", "date")))
    groups = [g for g in GROUPS if any(key[0] == g for key in rows)]
    for group in groups:
        table(rows, group)
    print()
    verdicts = [v for group in groups for v in judge(rows, group)]
    for is_met, text in verdicts:
        print(f"{'met   ' if is_met else 'MISSED'} {text}")
    print(f"{sum(v[0] for v in verdicts)} goals met, {sum(not v[0] for v in verdicts)} missed")


def write(paths, out):
    card, rows = merge(paths)
    with open(out, "w") as f:
        f.write(json.dumps(card, indent=1)[:-2] + ',\n "rows": [\n  ' + ",\n  ".join(json.dumps(r) for r in rows.values()) + "\n ]\n}\n")


def main():
    args = sys.argv[1:]
    out = None
    if "-o" in args:
        at = args.index("-o")
        out = args[at + 1]
        del args[at:at + 2]
    if not args:
        sys.exit(__doc__)
    paths = ([out] if out and os.path.exists(out) else []) + args
    show(paths)
    if out:
        write(paths, out)


if __name__ == "__main__":
    main()
