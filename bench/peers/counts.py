"""What the emulator counts beside what Nsight Compute measures on this GPU, kernel by kernel.

    python3 bench/peers/counts.py OUT_FOLDER [NESO]

Fails where sectors, wavefronts, conflicts, tensor instructions or barriers differ by more than 2 %; stmatrix is left out of the
wavefronts, and instructions are only shown, since SASS is not PTX. Everything that ncu printed is left in OUT_FOLDER.
"""
import csv
import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "..", "programs", "counts.py")
PREFIX = "count_"
BOUND = 0.02

# what it is, the emulator's counters (added), ncu's metrics (added), is it judged
ROWS = [
    ("sectors of loads", ["load_sectors"], ["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], True),
    ("sectors of stores", ["store_sectors"], ["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"], True),
    ("sectors of copies", ["copy_sectors"], ["l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"], False),
    ("wavefronts of loads", ["shared_load_wavefronts"], ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"], True),
    ("shared wavefronts", ["shared_wavefronts"], ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                                                  "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"], True),
    ("shared conflicts", ["shared_conflicts"], ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                                                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"], True),
    ("tensor instructions", ["tensor"], ["sass:HMMA", "sass:HGMMA", "sass:IMMA", "sass:IGMMA", "sass:QGMMA"], True),
    ("barriers", ["barriers"], ["sass:BAR"], True),
    ("instructions", ["instructions"], ["smsp__inst_executed.sum"], False),
    ("lane instructions", ["lane_instructions"], ["smsp__thread_inst_executed.sum"], False),
    ("wavefronts, all", ["shared_wavefronts"], ["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"], False),
    ("SASS: shared loads", ["shared_accesses"], ["sass:LDS", "sass:LDSM", "sass:STS", "sass:STSM"], False),
    ("SASS: TMA and cp.async", ["copies"], ["sass:UTMALDG", "sass:UTMASTG", "sass:LDGSTS", "sass:UBLKCP"], False),
]


def find_ncu():
    places = sorted(glob.glob("/usr/local/cuda*/bin/ncu") + glob.glob("/opt/nvidia/nsight-compute/*/ncu"))
    return shutil.which("ncu") or (places[-1] if places else None)


def run(command, log):
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    with open(log, "w") as f:
        f.write(" ".join(command) + "\n" + done.stdout + done.stderr)
    if done.returncode:
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
    """CSV tables in what ncu prints; lines that begin with == are its messages."""
    rows = list(csv.reader(line for line in text.splitlines() if line and not line.startswith("==")))
    return rows


def measured(ncu, neso, out):
    report = os.path.join(out, "counts")
    metrics = sorted({m for _, _, names, _ in ROWS for m in names if not m.startswith("sass:")})
    run([ncu, "-f", "-o", report, "--target-processes", "all", "--kernel-name", f"regex:{PREFIX}.*", "--cache-control", "none",
         "--section", "SourceCounters", "--section", "InstructionStats", "--metrics", ",".join(metrics),
         neso, "run", "--no-cache", "--device", "cuda", PROGRAM], os.path.join(out, "ncu.log"))
    report += ".ncu-rep"
    raw = tables(run([ncu, "--import", report, "--page", "raw", "--csv", "--print-units", "base"], os.path.join(out, "raw.csv")))
    head = raw[0]
    kernels = {}
    for row in raw[1:]:
        name = row[head.index("Kernel Name")].split("(")[0]
        if name.startswith(PREFIX):
            kernels[name] = {m: number(row[head.index(m)]) for m in metrics if m in head}
    add_sass(ncu, report, out, kernels)
    return kernels


def add_sass(ncu, report, out, kernels):
    """How often each opcode was executed: by the source page, a table of SASS for each kernel."""
    name, columns = None, None
    for row in tables(run([ncu, "--import", report, "--page", "source", "--csv", "--print-source", "sass"],
                          os.path.join(out, "source.csv"))):
        found = [k for k in kernels if any(re.search(rf"\b{k}\b", cell) for cell in row)]
        if found and "Source" not in row:
            name = found[0]
        elif "Source" in row:
            executed = [c for c in row if re.search(r"inst(ructions|\.)? executed$", c, re.I) and not re.search("thread|pred", c, re.I)]
            columns = (row.index("Source"), row.index(executed[0])) if executed else None
        elif name and columns and len(row) > max(columns):
            opcode = re.match(r"(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9]*)", row[columns[0]].strip())
            count = number(row[columns[1]])
            if opcode and count is not None:
                key = "sass:" + opcode[1]
                kernels[name][key] = kernels[name].get(key, 0) + count
                kernels[name]["sass"] = True


def ncu_value(k, names):
    values = [k.get(n, 0 if n.startswith("sass:") and k.get("sass") else None) for n in names]
    known = [v for v in values if v is not None]
    return sum(known) if known else None


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
    os.makedirs(out, exist_ok=True)
    ours = {k: v for k, v in emulated(neso, out).items() if k.startswith(PREFIX)}
    ncu = find_ncu()
    if not ncu:
        sys.exit("ncu is not here: it comes with CUDA's toolkit (cuda-nsight-compute)")
    wrong, rows = compare(ours, measured(ncu, neso, out))
    with open(os.path.join(out, "counts.json"), "w") as f:
        json.dump(rows, f, indent=1)
    print(f"\n{wrong} numbers are off by more than {100 * BOUND:.0f} %")
    sys.exit(wrong > 0)


main()
