"""player.py: replays records through neso. It reads a record's name on standard input, and writes a verdict in JSON to standard output.
If neso and Triton differ, the input "NAME ?" requests a verdict on which of the two is right.

A record without memory gets generated memory, and neso's interpreter computes the expected results of the grid's first programs. The player
is a separate process, because a failed launch makes a CUDA context useless, and because replay.py must be able to kill a launch that hangs.
It needs neso and numpy, not torch.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time


sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime", "python"))
import compare
import neso
import numpy as np

GUARD = 4096  # bytes before and after each storage, to which no kernel may write
ASSEMBLE_SECONDS = 120
ARBITER_BYTES = 64 << 20
PATTERN = bytes(range(1, 256)) * 17


class Tight:
    """A storage around which no memory is accessible, so that the interpreter reports accesses beyond its ends."""

    def __init__(self, context, data):
        self.context, self.bytes, self.address = context, len(data), context.allocate(max(1, len(data)))
        context.write(self.address, data)

    def read(self):
        return self.context.read(self.address, self.bytes)


class Storage:
    def __init__(self, context, shape, before):
        self.context, self.bytes, self.before = context, shape["bytes"], before
        self.shift = GUARD + shape["alignment"]
        self.whole = context.allocate(self.shift + self.bytes + 2 * GUARD)
        base = (self.whole + 511) & ~511  # torch aligns storages to 512 bytes
        self.head = base + self.shift - GUARD
        self.address = base + self.shift
        context.write(self.head, PATTERN[:GUARD] + before + PATTERN[:GUARD])

    def read(self):
        """Returns the contents, and whether the launch has written outside of the storage."""
        data = self.context.read(self.head, self.bytes + 2 * GUARD)
        clean = data[:GUARD] == PATTERN[:GUARD] and data[GUARD + self.bytes:] == PATTERN[:GUARD]
        return data[GUARD:GUARD + self.bytes], clean

    def release(self):
        self.context.release(self.whole)


def options_of(record):
    o = record["options"]
    debug = (2 if o.get("sanitize_overflow") is False else 1) if o.get("debug") else 0
    return {"num_warps": o["num_warps"] or 0, "num_stages": o["num_stages"] or 0, "max_registers": o.get("maxnreg") or 0,
            "no_fp_fusion": 0 if o.get("enable_fp_fusion", True) else 1, "debug": debug}


def first_line(message):
    """Returns the first error of a message: file:line:column, text, [tag]."""
    errors = [line for line in message.splitlines() if "error" in line]
    return (errors or message.splitlines() or ["?"])[0].strip()


def values_of(record, storages):
    values = []
    for a in record["arguments"]:
        if not isinstance(a, dict):
            values.append(a)
        elif "descriptor" in a:
            values.append(address(a["descriptor"], storages))
            values += a["shape"] + a["strides"][:-1]
        else:
            values.append(address(a, storages))
    return values


def address(place, storages):
    return storages[place["storage"]].address + place["offset"]


def read_memory(folder, record):
    sizes = [s["bytes"] for s in record["storages"]]
    again = [sizes[i] for i in record["varies"] or []]
    parts = []
    with open(os.path.join(folder, record["id"] + ".bin"), "rb") as f:
        for n in sizes * 2 + again:
            parts.append(f.read(n))
    n = len(sizes)
    varied = dict(zip(record["varies"] or [], parts[2 * n:]))
    return parts[:n], parts[n:2 * n], varied


def made_up(record):
    """Generates memory for a record without memory: ordinary floats and small integers, the same in every run."""
    random = np.random.default_rng(int(record["id"][:8], 16))
    return [made_up_elements(random, s["type"], s["bytes"]) for s in record["storages"]]


def made_up_elements(random, kind, nbytes):
    if kind == "bool":
        return random.integers(0, 2, nbytes, dtype=np.uint8).tobytes()
    if kind in compare.INTEGERS:
        data = random.integers(0, 4, nbytes, dtype=np.uint8).astype(compare.INTEGERS[kind])
    elif kind in compare.FLOATS:
        data = (random.standard_normal(nbytes // 2 + 1) / 4).astype(compare.FLOATS[kind])
    elif kind == "bf16":
        data = ((random.standard_normal(nbytes // 2 + 1) / 4).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        data = random.choice(np.array([0x30, 0x38, 0x3c, 0xb8, 0x34, 0xb1], np.uint8), nbytes)
    return data.tobytes()[:nbytes].ljust(nbytes, b"\0")


def interpret(record, before):
    """Returns the memory after neso's interpreter has run the record's programs."""
    context = neso.Context("interpreter")
    storages = [Tight(context, data) for data in before]
    build(context, record, None)[record["grid"]](*values_of(record, storages))
    return [s.read() for s in storages]


def memory_of(folder, record):
    if os.path.exists(os.path.join(folder, record["id"] + ".bin")):
        return read_memory(folder, record)
    record["grid"] = [min(g, most) for g, most in zip(record["grid"], (4, 2, 2))]
    before = made_up(record)
    return before, interpret(record, before), {}


WORDS = ((r"\bfloat32\b", "fp32"), (r"\bfloat16\b", "fp16"), (r"\bbfloat16\b", "bf16"))


def kinds_of(record):
    """Returns the types in which a kernel computes, as far as its tensors and its source show them."""
    return {s["type"] for s in record["storages"]} | {kind for word, kind in WORDS if mentions(record, word)}


def mentions(record, word):
    return any(re.search(word, text) for text in record["texts"].values())


def has_dots(record):
    return mentions(record, r"\bdot(_scaled)?\(")


def uses_atomic_results(record):
    return mentions(record, r"([-=+*(,]|\breturn)\s*tl\.atomic_\w+\(")


def build(context, record, target):
    texts = dict(record["texts"])
    main = record["main"]
    module = context.source(main + ".py", texts.pop(main), texts)
    options = dict(options_of(record), target=target) if target else options_of(record)
    return module.kernel(record["kernel"], record["signature"], load=False, **options)


def assemble(ptx, target):
    """Assembles the PTX; returns ptxas's error message, or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.ptx")
        with open(path, "w") as f:
            f.write(ptx)
        command = ["ptxas", "-arch", target, path, "-o", os.path.join(folder, "kernel.cubin")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=ASSEMBLE_SECONDS)
        except subprocess.TimeoutExpired:
            return f"no end after {ASSEMBLE_SECONDS} s: {len(ptx.splitlines())} lines"
        return (done.stdout + done.stderr).strip().replace(path, "ptx") if done.returncode else None


def play(context, device, folder, record, say):
    """Returns the verdict on one record, a dictionary."""
    if (record["options"].get("num_ctas") or 1) > 1:
        return {"verdict": "left out", "detail": "num_ctas > 1"}
    say("compile")
    start = time.perf_counter()
    kernel = build(context, record, None if device == "cuda" else "sm_90a")
    verdict = {"compile_ms": round(1000 * (time.perf_counter() - start), 2)}
    if device == "none":
        say("assemble")
        complaint = assemble(kernel.text("ptx"), "sm_90a")
        return dict(verdict, verdict="refused by ptxas" if complaint else "compiled", detail=complaint or "")
    before, after, varied = memory_of(folder, record)
    storages = [Storage(context, s, data) for s, data in zip(record["storages"], before)]
    say("launch")
    start = time.perf_counter()
    kernel[record["grid"]](*values_of(record, storages))
    context.synchronize()
    verdict["launch_ms"] = round(1000 * (time.perf_counter() - start), 2)
    say("compare")
    return dict(verdict, **judge(folder, record, storages, before, after, varied))


OPEN = {"integers": "varies under Triton too", "order": "the same elements in the order of other atomic operations"}


def judge(folder, record, storages, before, after, varied):
    dots, worst, around, memory = has_dots(record), [], [], []
    kinds = kinds_of(record)
    for i, (s, shape) in enumerate(zip(storages, record["storages"])):
        found, clean = s.read()
        s.release()
        memory.append(found)
        if not clean:
            around.append(i)
        kind = shape["type"]
        difference = compare.compare(found, after[i], before[i], kind, compare.bound_of(kind, kinds, dots), varied.get(i))
        if difference:
            if not difference["agrees"] and uses_atomic_results(record) and compare.same_elements(found, after[i], kind):
                difference.update(agrees=True, error="order")
            worst.append(difference)
    wrong = [d for d in worst if not d["agrees"]]
    if around or wrong:
        with open(os.path.join(folder, record["id"] + ".found"), "wb") as f:
            f.write(b"".join(memory))
    if around:
        return {"verdict": "differs", "detail": f"writes outside of storage {around}"}
    if wrong:
        return {"verdict": "differs", "detail": "; ".join(compare.text(d) for d in wrong), "differences": wrong}
    if worst:
        errors = [d["error"] for d in worst if isinstance(d["error"], float)]
        details = [f"within {max(errors):.2g}"] if errors else []
        details += [text for word, text in OPEN.items() if any(d["error"] == word for d in worst)]
        return {"verdict": "agrees", "error": max(errors, default=None), "detail": "; ".join(details)}
    return {"verdict": "equal", "detail": "" if any(a != b for a, b in zip(after, before)) else "nothing was written"}


# -- deciding which of two different results is right --

def arbitrate(folder, record):
    """Returns, for a record whose results differ from neso's, whether the program is at fault, or whose results the interpreter confirms."""
    if not os.path.exists(os.path.join(folder, record["id"] + ".bin")):
        return {}  # the record has no memory, so the interpreter was the reference
    before, after, _ = read_memory(folder, record)
    if sum(map(len, before)) > ARBITER_BYTES:
        return {}
    try:
        exact = interpret(record, before)
    except neso.NesoError as e:
        complaint = first_line(str(e))
        is_fault = "out of bounds" in complaint or "race between" in complaint
        return {"verdict": "program at fault", "arbiter": complaint} if is_fault else {"arbiter": complaint}
    path = os.path.join(folder, record["id"] + ".found")
    if not os.path.exists(path):
        return {"arbiter": "the interpreter has no complaint"}
    with open(path, "rb") as f:
        found = [f.read(len(b)) for b in before]
    kinds, dots, ours, theirs = kinds_of(record), has_dots(record), 0.0, 0.0
    for shape, f, a, e, b in zip(record["storages"], found, after, exact, before):
        bound = compare.bound_of(shape["type"], kinds, dots)
        ours = max(ours, compare.excess(f, e, b, shape["type"], bound))
        theirs = max(theirs, compare.excess(a, e, b, shape["type"], bound))
    text = f"from the interpreter, in units of the bound: neso {ours:.3g}, Triton {theirs:.3g}"
    if ours <= 1 and theirs > 1:
        return {"verdict": "only Triton differs", "arbiter": text}
    return {"verdict": "agrees", "arbiter": text} if ours <= 2 * theirs and theirs < 100 else {"arbiter": text}


def verdict_of(context, device, folder, name, say):
    with open(os.path.join(folder, name + ".json")) as f:
        record = json.load(f)
    try:
        return play(context, device, folder, record, say), False
    except neso.NesoError as e:
        message = str(e)
        kind = {1: "refused", 5: "refused", 6: "internal error"}.get(e.status, "crashed")
        return {"verdict": kind, "detail": first_line(message), "message": message}, e.status == 4
    except Exception as e:
        return {"verdict": "tool failed", "detail": f"{type(e).__name__}: {e}"}, False


def main():
    folder, device = sys.argv[1:3]
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # sends the output of kernels to stderr, because stdout is for verdicts
    compare.np.seterr(all="ignore")
    context = neso.Context(None if device == "none" else device)
    out.write(json.dumps({"ready": True}) + "\n")
    for line in sys.stdin:
        name, *wish = line.split()
        if wish:
            with open(os.path.join(folder, name + ".json")) as f:
                out.write(json.dumps(dict({"verdict": None}, **arbitrate(folder, json.load(f)), id=name)) + "\n")
            continue
        verdict, is_spoilt = verdict_of(context, device, folder, name, lambda phase: out.write(json.dumps({"phase": phase}) + "\n"))
        out.write(json.dumps(dict(verdict, id=name)) + "\n")
        if is_spoilt:
            return


if __name__ == "__main__":
    main()
