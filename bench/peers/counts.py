# SPDX-License-Identifier: MIT
"""counts.py: compares the emulator's counts of each kernel with Nsight Compute's measurements on this GPU.

    python3 bench/peers/counts.py OUT_FOLDER [NESO [KERNEL...]]

A KERNEL is one of bench/programs/counts.py, without the prefix count_. The script fails if sectors, wavefronts, conflicts, tensor
instructions or barriers differ by more than 2 %. Differences in wavefronts of stmatrix are ignored. Numbers of instructions
are only printed, because the emulator counts PTX, and ncu counts SASS. At the end the script prints the table of
runtime/devices/emulator/README.md. It writes the output of ncu to OUT_FOLDER, and takes at most SECONDS.
"""
import csv
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "..", "programs", "counts.py")
PREFIX = "count_"
BOUND = 0.02
SECONDS = 170
BEGAN = time.monotonic()

LSU = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op"
# Each row has a name, the emulator's counters to sum, lists of ncu's metrics to sum, and whether the row is judged.
# The first list that this ncu knows is used.
ROWS = [
    ("sectors of loads", ["load_sectors"], [[f"{SECTORS}_ld.sum"]], True),
    ("sectors of stores", ["store_sectors"], [[f"{SECTORS}_st.sum"]], True),
    ("sectors of bulk copies", ["copy_sectors"], [], False),
    ("wavefronts of loads", ["shared_load_wavefronts"], [[f"{LSU}_op_ld.sum"]], True),
    ("shared wavefronts", ["shared_wavefronts"], [[f"{LSU}_op_ld.sum", f"{LSU}_op_st.sum"]], True),
    ("shared conflicts", ["shared_conflicts"], [[f"{CONFLICTS}_op_ld.sum", f"{CONFLICTS}_op_st.sum"]], True),
    ("tensor instructions", ["tensor"], [["sass:HMMA", "sass:HGMMA", "sass:IMMA", "sass:IGMMA", "sass:QGMMA"],
                                         ["smsp__inst_executed_pipe_tensor.sum"]], True),
    ("barriers", ["barriers"], [["sass:BAR", "sass:UCGABAR_ARV"]], True),
    ("instructions", ["instructions"], [["smsp__inst_executed.sum"]], False),
    ("lane instructions", ["lane_instructions"], [["smsp__thread_inst_executed.sum"]], False),
    ("wavefronts, all", ["shared_wavefronts"], [[f"{LSU}.sum"]], False),
    ("wavefronts, by SASS", ["shared_wavefronts"], [["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum"]], False),
    ("conflicts, by SASS", ["shared_conflicts"], [["smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared.sum"]], False),
    ("shared instructions", ["shared_accesses"], [["sass:LDS", "sass:LDSM", "sass:STS", "sass:STSM"]], False),
    ("TMA and cp.async", ["copies"], [["sass:UTMALDG", "sass:UTMASTG", "sass:LDGSTS", "sass:UBLKCP"]], False),
]
OPCODES = "sass__inst_executed_per_opcode"


def find_ncu():
    places = sorted(glob.glob("/usr/local/cuda*/bin/ncu") + glob.glob("/opt/nvidia/nsight-compute/*/ncu"))
    return shutil.which("ncu") or (places[-1] if places else None)


def run(command, log, may_fail=False):
    left = max(SECONDS - (time.monotonic() - BEGAN), 5)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=left, check=False, errors="replace")
    except subprocess.TimeoutExpired:
        sys.exit(f"{SECONDS} seconds were not enough: {' '.join(command)}")
    with open(log, "w") as f:
        f.write(" ".join(command) + "\n" + done.stdout + done.stderr)
    if done.returncode and not may_fail:
        sys.exit(f"it failed ({done.returncode}): {' '.join(command)}\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def emulated(neso, out):
    path = os.path.join(out, "emulator.json")
    run([neso, "run", "--no-cache", "--device", "emulator", f"--counts={path}", PROGRAM], os.path.join(out, "emulator.log"))
    with open(path) as f:
        return {k["kernel"]: k["counts"] for k in json.load(f)}


def number(text):
    text = text.replace(",", "").split()[0] if text.strip() else ""
    return float(text) if re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", text) else None


def tables(text):
    """Returns the CSV tables in ncu's output, without its messages, which begin with "=="."""
    return list(csv.reader(line for line in text.splitlines() if line.strip() and not line.startswith("==")))


def known_metrics(ncu, out):
    """Returns the metrics of ROWS that this ncu has for this GPU; all of them if ncu lists none."""
    listed = set(re.findall(r"^\s*(\w+__\w+)", run([ncu, "--query-metrics"], os.path.join(out, "metrics.txt"), may_fail=True), re.M))
    asked = {m for _, _, ways, _ in ROWS for names in ways for m in names if not m.startswith("sass:")}
    unknown = {m for m in asked if listed and m.split(".")[0] not in listed}
    for m in sorted(unknown):
        print(f"this ncu has no {m}")
    return sorted(asked - unknown)


def measured(ncu, neso, out, chosen):
    report = os.path.join(out, "counts")
    metrics = known_metrics(ncu, out)
    names = "|".join(chosen) if chosen else ".*"
    command = [ncu, "-f", "-o", report, "--target-processes", "all", "--clock-control", "none", "--cache-control", "none",
               "--kernel-name-base", "function", "--kernel-name", f"regex:^{PREFIX}({names})"]
    program = [neso, "run", "--no-cache", "--device", "cuda", PROGRAM]
    sections = ["--section", "SourceCounters", "--section", "InstructionStats"]
    run(command + sections + ["--metrics", ",".join(metrics + [OPCODES])] + program, os.path.join(out, "ncu.log"), may_fail=True)
    if not os.path.exists(report + ".ncu-rep"): # ncu refused a metric: request only the judged metrics (add_sass counts SASS)
        judged = [m for m in metrics if any(m in names for _, _, ways, is_judged in ROWS if is_judged for names in ways)]
        run(command + sections + ["--metrics", ",".join(judged)] + program, os.path.join(out, "ncu2.log"))
    report += ".ncu-rep"
    raw = tables(run([ncu, "--import", report, "--page", "raw", "--csv", "--print-units", "base", "--print-metric-instances", "details"],
                     os.path.join(out, "raw.csv")))
    at = next((i for i, row in enumerate(raw) if "Kernel Name" in row), None)
    if at is None:
        sys.exit(f"no table of kernels in {out}/raw.csv")
    kernels = {}
    for row in raw[at + 1:]:
        cells = dict(zip(raw[at], row))
        name = cells.get("Kernel Name", "").split("(")[0].strip()
        if not name.startswith(PREFIX) or name in kernels:
            continue
        kernels[name] = {m: number(cells[m]) for m in metrics if m in cells}
        for opcode, count in re.findall(r"\b([A-Z][A-Z0-9_]*)\s*[:=]\s*([\d,]+)", cells.get(OPCODES, "")):
            kernels[name]["sass:" + opcode] = number(count)
            kernels[name]["sass"] = True
    if not all(k.get("sass") for k in kernels.values()):
        add_sass(ncu, report, out, kernels)
    return kernels


def add_sass(ncu, report, out, kernels):
    """Adds the number of executions of each opcode. ncu's source page has a table of SASS for each kernel, in the order of the
    launches."""
    name, columns = None, None
    order = iter(kernels)
    for row in tables(run([ncu, "--import", report, "--page", "source", "--csv", "--print-source", "sass"],
                          os.path.join(out, "source.csv"), may_fail=True)):
        found = [k for k in kernels if any(re.search(rf"\b{k}\b", cell) for cell in row)]
        if "Source" in row:
            executed = [c for c in row if re.search(r"^(# )?inst(ructions|\.)? executed$", c.strip(), re.I)]
            columns = (row.index("Source"), row.index(executed[0])) if executed else None
            name = name or next(order, None)
        elif found:
            name = found[0]
        elif name and columns and len(row) > max(columns):
            opcode = re.match(r"(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", row[columns[0]].strip())
            count = number(row[columns[1]])
            if opcode and count is not None:
                key = "sass:" + opcode[1]
                kernels[name][key] = kernels[name].get(key, 0) + count
                kernels[name]["sass"] = True


def ncu_value(k, ways):
    """Returns the value of the first alternative for which ncu has data. An opcode that ncu does not list was not executed."""
    for names in ways:
        values = [k.get(n, 0 if n.startswith("sass:") and k.get("sass") else None) for n in names]
        known = [v for v in values if v is not None]
        if known:
            return sum(known)
    return None


def print_table(rows):
    """Prints the table in the form of runtime/devices/emulator/README.md."""
    print("\n| kernel | what | emulator | ncu | emulator / ncu |\n| --- | --- | --- | --- | --- |")
    for r in rows:
        ratio = "?" if r["ncu"] is None else "1" if r["ncu"] == r["emulator"] else f"{r['emulator'] / r['ncu']:.3f}" if r["ncu"] else "-"
        ncu = "?" if r["ncu"] is None else f"{r['ncu']:,.0f}"
        print(f"| `{r['kernel'][len(PREFIX):]}` | {r['what']} | {r['emulator']:,} | {ncu} | {ratio} |")


def compare(ours, theirs):
    wrong, rows = 0, []
    for name, counts in ours.items():
        if name not in theirs:
            print(f"{name}: ncu did not see it")
            wrong += 1
            continue
        print(f"\n{name}\n    {'':26}{'emulator':>14}{'ncu':>14}{'off':>9}")
        for what, mine, names, judged in ROWS:
            a, b = sum(counts[m] for m in mine), ncu_value(theirs[name], names)
            if a == 0 and not b:
                continue
            off = None if b is None else abs(a - b) / max(b, 1)
            has_stmatrix = "shared" in what and counts["stmatrix_wavefronts"]
            bad = judged and not has_stmatrix and (off is None or off > BOUND)
            wrong += bad
            shown = ("?" if b is None else f"{b:.0f}", "?" if off is None else f"{100 * off:.1f} %")
            mark = "  <--" if bad else "  (stmatrix)" if judged and has_stmatrix else "" if judged else "  (shown only)"
            print(f"    {what:26}{a:>14}{shown[0]:>14}{shown[1]:>9}{mark}")
            rows.append({"kernel": name, "what": what, "emulator": a, "ncu": b, "judged": judged})
    return wrong, rows


def main():
    out = sys.argv[1]
    neso = sys.argv[2] if len(sys.argv) > 2 else "build/neso"
    chosen = sys.argv[3:]
    os.makedirs(out, exist_ok=True)
    ours = {k: v for k, v in emulated(neso, out).items() if k.startswith(PREFIX) and (not chosen or k[len(PREFIX):] in chosen)}
    if not ours:
        sys.exit(f"no kernel of {PROGRAM} is meant by {' '.join(chosen)}")
    ncu = find_ncu()
    if not ncu:
        sys.exit("ncu is not here: it comes with CUDA's toolkit (cuda-nsight-compute)")
    wrong, rows = compare(ours, measured(ncu, neso, out, chosen))
    print_table(rows)
    with open(os.path.join(out, "counts.json"), "w") as f:
        json.dump(rows, f, indent=1)
    print(f"\n{wrong} numbers are off by more than {100 * BOUND:.0f} %")
    sys.exit(wrong > 0)


main()
