# SPDX-License-Identifier: MIT
"""loops.py NESO COUNT SEED: compares the emulator with the interpreter on random loops of dots, as Triton programs.

random_kernels makes kernels of all kinds from expressions; this program makes the loops that public kernels have:
- operands: a dot whose operands are computed from tiles, rows, columns, few rows or groups of scales, by pointers or descriptors;
- recurrences: a carried state is an operand, and dots update it; loops that count down, and store in each iteration;
- gradients: dots of resident and loaded tiles, chained through registers, with several accumulators, in one or two loops.
All numbers are small integers, so sums are exact, and both devices must print the same. Prints the programs that differ (they stay in the
current folder as SEED.py), and last `N passed, N failed`.
"""
import concurrent.futures
import os
import random
import subprocess
import sys

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
BYTES = {"float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int8": 1, "uint8": 1, "float8e5": 1}
EXACT = ", input_precision='ieee'"


class Program:
    """Collects the parts of a program with one kernel and one launch."""

    def __init__(self, seed):
        self.random, self.seed, self.n = random.Random(seed), seed, 0
        self.host, self.params, self.outputs = [], [], []
        self.before, self.body, self.steps, self.after = [], [], [], []
        self.grid, self.extra, self.warps, self.stages = 1, "", 4, 3

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def name(self, letter):
        self.n += 1
        return f"{letter}{self.n}"

    def input(self, shape, dtype, low=-1, high=2):
        name, kind = self.name("X"), {"float8e5": "float8_e5m2"}.get(dtype, dtype)
        low = max(low, 0) if dtype == "uint8" else low
        self.host.append(f"{name} = torch.randint({low}, {high}, {tuple(shape)}, device='cuda').to(torch.{kind})")
        self.params.append(name)
        return name

    def output(self, shape, dtype="float32"):
        name = self.name("Y")
        self.host.append(f"{name} = torch.zeros({tuple(shape)}, device='cuda', dtype=torch.{dtype})")
        self.params.append(name)
        self.outputs.append(name)
        return name

    def let(self, letter, text):
        name = self.name(letter)
        self.body.append(f"{name} = {text}")
        return name

    def text(self, loops, scalars, values):
        """Returns the program; `loops` are pairs of a `for` line and its body."""
        lines = [f"def kernel({', '.join(self.params + scalars)}):"] + ["    " + l for l in self.before]
        for head, body in loops:
            lines += ["    " + head] + ["        " + l for l in body]
        lines += ["    " + l for l in self.after]
        end = ["", "", "triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device='cuda', dtype=torch.int8))",
               f"torch.manual_seed({self.seed % 1000})"] + self.host
        arguments = ", ".join(self.params + [str(v) for v in values])
        end.append(f"kernel[({self.grid},)]({arguments}, num_warps={self.warps}, num_stages={self.stages})")
        for y in self.outputs:
            weights = f"torch.arange({y}.numel(), device='cuda') % 1021"
            end.append(f"print('{y}', {y}.to(torch.float64).sum().item(), ({y}.to(torch.float64).flatten() * ({weights})).sum().item())")
        return HEAD + f"@triton.jit{self.extra}\n" + "\n".join(lines + end) + "\n"


def matrix(rows, columns):
    return f"({rows})[:, None]", f"({columns})[None, :]"


# -- operands --


def loaded(p, rows, columns, dtype, along, trips, down):
    """Loads a tile that advances along "rows" or "columns" in each iteration; returns its name."""
    whole = (rows * trips, columns) if along == "rows" else (rows, columns * trips)
    lead = whole[1] + (p.pick(0, 8, 3) if p.chance(30) else 0)
    x, way = p.input((whole[0], lead), dtype, -2, 3), p.pick("index", "index", "pointer", "descriptor")
    if way == "descriptor" and (columns * BYTES[dtype] < 16 or lead * BYTES[dtype] % 16):
        way = "index"
    at = {"rows": f"it * {rows}", "columns": f"it * {columns}"}
    if way == "descriptor":
        d = p.name("d")
        p.before.append(f"{d} = tl.make_tensor_descriptor({x}, [{whole[0]}, {whole[1]}], [{lead}, 1], [{rows}, {columns}])")
        return p.let("v", f"{d}.load([{at['rows'] if along == 'rows' else 0}, {at['columns'] if along == 'columns' else 0}])")
    r, c = matrix(f"tl.arange(0, {rows})", f"tl.arange(0, {columns})")
    if way == "pointer":
        step, pointer = rows * lead if along == "rows" else columns, p.name("p")
        p.before.append(f"{pointer} = {x} + {(trips - 1) * step if down else 0} + {r} * {lead} + {c}")
        p.steps.append(f"{pointer} {'-' if down else '+'}= {step}")
        return p.let("v", f"tl.load({pointer}" + (f", mask={c} < {max(1, columns - p.pick(0, 1, 2))}, other=0)" if p.chance(30) else ")"))
    r = f"({at['rows']} + {r})" if along == "rows" else r
    c = f"({at['columns']} + {c})" if along == "columns" else c
    mask = f", mask=({c} < {whole[1] - p.pick(0, 1, 3)}) & ({r} < {whole[0] - p.pick(0, 2)}), other=0)" if p.chance(30) else ")"
    return p.let("v", f"tl.load({x} + {r} * {lead} + {c}{mask}")


def factor(p, rows, columns, axis, dtype, trips, down):
    """Returns a tile of the operand's shape, computed from a smaller tile or a vector; the dot sums along `axis`."""
    along = "columns" if axis else "rows"
    kind, size = p.pick("whole", "few", "row", "column", "groups"), p.pick(1, 2, 4, 8)
    if kind == "whole":
        return loaded(p, rows, columns, dtype, along, trips, down)
    if kind in ("row", "column"):
        n, moves = (columns, axis == 1) if kind == "row" else (rows, axis == 0)
        x = p.input((n * trips if moves else n,), dtype, -2, 3)
        v = p.let("v", f"tl.load({x} + {f'it * {n} + ' if moves else ''}tl.arange(0, {n}))")
        return f"{v}[None, :]" if kind == "row" else f"{v}[:, None]"
    divided = (axis == 0) == (kind == "few")  # whether the columns are divided
    n = min(size if kind == "few" else 4 * size, columns if divided else rows)
    parts = n if kind == "few" else (columns if divided else rows) // n
    v = loaded(p, rows if divided else parts, parts if divided else columns, dtype, along, trips, down)
    whole = f"[{rows}, {parts}, {columns // parts}]" if divided else f"[{parts}, {rows // parts}, {columns}]"
    return f"tl.reshape(tl.broadcast_to({v}[{':, :, None' if divided else ':, None, :'}], {whole}), [{rows}, {columns}])"


def operand(p, rows, columns, axis, dtype, trips, down):
    along, wide = "columns" if axis else "rows", "tl.int32" if dtype == "int8" else "tl.float32"
    if p.chance(25):
        x = loaded(p, columns, rows, dtype, "rows" if axis else "columns", trips, down) + ".T"
    else:
        x = loaded(p, rows, columns, dtype, along, trips, down)
    n = p.pick(0, 1, 1, 1, 2)
    x = f"{x}.to({wide})" if n else x
    for _ in range(n):
        f = f"({factor(p, rows, columns, axis, p.pick('float32', 'float16', 'bfloat16', 'int8', 'uint8', dtype), trips, down)}).to({wide})"
        x = p.pick(f"({x} * {f})", f"({x} + {f})", f"({x} - {f})", f"tl.where({f} > 0, {x}, {f})", f"tl.maximum({x}, {f})")
    return p.let("o", f"({x}).to(tl.{dtype})" if n else x)


def operands(seed):
    p = Program(seed)
    dtype = p.pick("float16", "float16", "float16", "bfloat16", "int8", "float8e5", "float32")
    m, n, k = p.pick(16, 32, 64, 64, 128), p.pick(16, 32, 64, 128), p.pick(32, 32, 64, 64, 128)
    k = min(k, 64) if dtype == "float32" else k
    while m * n > 128 * 64 or (m + n) * k > 192 * 64:
        m, n = p.pick(16, 32, 64), p.pick(16, 32, 64)
    p.warps = p.pick(4, 8) if m >= 64 and p.chance(60) else p.pick(1, 2, 4, 4, 8)
    p.stages, trips, down = p.pick(1, 2, 3, 3, 4), p.pick(1, 2, 3, 4, 5), p.chance(25)
    whole = "int32" if dtype == "int8" else "float32"
    exact = EXACT if dtype == "float32" and p.chance(50) else ""
    a, b = operand(p, m, k, 1, dtype, trips, down), operand(p, k, n, 0, dtype, trips, down)
    products = [b] + ([loaded(p, k, n, dtype, "rows", trips, down)] if p.chance(30) else [])
    for x in products:
        y, acc = p.output((m, n), whole), p.name("acc")
        p.before.append(f"{acc} = tl.zeros(({m}, {n}), tl.{whole})")
        p.body.append(f"{acc} += tl.dot({a}, {x}, out_dtype=tl.int32)" if dtype == "int8" else f"{acc} = tl.dot({a}, {x}, {acc}{exact})")
        r, c = matrix(f"tl.arange(0, {m})", f"tl.arange(0, {n})")
        p.after.append(f"tl.store({y} + {r} * {n} + {c}, {acc})")
    if p.chance(35):
        y, total = p.output((k,), whole), p.name("acc")
        p.before.append(f"{total} = tl.zeros(({k},), tl.{whole})")
        p.body.append(f"{total} += tl.sum({a}.to(tl.{whole}), 0)")
        p.after.append(f"tl.store({y} + tl.arange(0, {k}), {total})")
    if p.chance(20):
        y = p.output((trips, m, k))
        r, c = matrix(f"tl.arange(0, {m})", f"tl.arange(0, {k})")
        p.body.append(f"tl.store({y} + it * {m * k} + {r} * {k} + {c}, {a}.to(tl.float32))")
    last = "N" if p.chance(70) else str(trips)
    head = f"for it in range({last} - 1, -1, -1):" if down else f"for it in {p.pick('range', 'range', 'tl.range')}(0, {last}):"
    return p.text([(head, p.body + p.steps)], ["N"], [trips])


# -- recurrences --


def reduced(x, n):
    return f"{x} - {n}.0 * tl.floor({x} * {1 / n})"


def recurrences(seed):
    p = Program(seed)
    dtype = p.pick("float16", "bfloat16", "float16", "bfloat16", "float32")
    t, d, v = p.pick(16, 32, 64, 64), p.pick(16, 32, 64, 64, 128), p.pick(16, 32, 64, 64, 128)
    while d * v > 64 * 128 or t * d > 64 * 128:
        d, v = p.pick(16, 32, 64), p.pick(16, 32, 64)
    p.warps, p.stages, p.grid, trips = p.pick(1, 2, 4, 4, 8), p.pick(1, 2, 3, 4), p.pick(1, 2, 3), p.pick(1, 2, 3, 4, 5)
    rows, cast = t * trips, f"tl.{dtype}"
    rest, exact = p.random.randrange(t) if p.chance(40) else 0, EXACT if dtype == "float32" else ""
    index = f"({'it.to(tl.int64)' if p.chance(40) else 'it'} * {t} + tl.arange(0, {t}))"
    use_descriptors = p.chance(35)

    def tile(width, turned=False):
        x = p.input((p.grid, rows, width), dtype)
        if use_descriptors and width * BYTES[dtype] >= 16:
            desc = p.name("d")
            p.before.append(f"{desc} = tl.make_tensor_descriptor({x} + pid * {rows * width}, [T, {width}], [{width}, 1], [{t}, {width}])")
            return p.let("x", f"{desc}.load([it * {t}, 0])" + (".T" if turned else ""))
        masked = rest or p.chance(30)
        if turned and p.chance(50):
            mask = f", mask=({index} < T)[None, :], other=0.0" if masked else ""
            return p.let("x", f"tl.load({x} + pid * {rows * width} + {index}[None, :] * {width} + tl.arange(0, {width})[:, None]{mask})")
        mask = f", mask=({index} < T)[:, None], other=0.0" if masked else ""
        return p.let("x", f"tl.load({x} + pid * {rows * width} + {index}[:, None] * {width} + tl.arange(0, {width})[None, :]{mask})"
                     + (".T" if turned else ""))

    def vector():
        x, mask = p.input((p.grid, rows), "float32", 0, 3), f", mask={index} < T, other=0.0" if rest or p.chance(30) else ""
        return p.let("g", f"tl.load({x} + pid * {rows} + {index}{mask})")

    def put(o):
        y, mask = p.output((p.grid, rows, v)), f", mask=({index} < T)[:, None])" if rest or p.chance(20) else ")"
        p.body.append(f"tl.store({y} + pid * {rows * v} + {index}[:, None] * {v} + tl.arange(0, {v})[None, :], {o}{mask}")

    half = d // 2 if d >= 32 and p.chance(30) else d
    states = [p.name("s") for _ in range(d // half)]
    p.before += [f"pid = tl.program_id(0){'.to(tl.int64)' if p.chance(40) else ''}"]
    p.before += [f"{s} = tl.zeros(({half}, {v}), tl.float32)" for s in states]
    values, gate, beta = tile(v), vector() if p.chance(50) else None, vector() if p.chance(40) else None

    def read():
        o = p.let("o", f"tl.zeros(({t}, {v}), tl.float32)")
        for s in states:
            q = tile(half)
            p.body.append(f"{o} = tl.dot({q}, {s}.to({cast}), {o}{exact})")
            if p.chance(50):
                a = p.let("a", f"tl.dot({q}, {tile(half, True)}{exact})")
                if p.chance(70):
                    p.body.append(f"{a} = tl.where(tl.arange(0, {t})[:, None] >= tl.arange(0, {t})[None, :], {a}, 0.0)")
                if gate and p.chance(50):
                    p.body.append(f"{a} = {a} * {gate}[:, None]")
                p.body.append(f"{o} = tl.dot({a}.to({cast}), {values}, {o}{exact})")
        put(o)

    def update():
        new = values
        if p.chance(50):
            new = p.let("w", f"{values}.to(tl.float32) - tl.dot({tile(half)}, {states[0]}.to({cast}){exact})")
            if beta:
                p.body.append(f"{new} = {new} * {beta}[:, None]")
            p.body.append(f"{new} = ({reduced(new, 4)}).to({cast})")
            if p.chance(40):
                put(f"{new}.to(tl.float32)")
        for s in states:
            if p.chance(35):
                y = p.output((p.grid, trips, half, v))
                r, c = matrix(f"tl.arange(0, {half})", f"tl.arange(0, {v})")
                p.body.append(f"tl.store({y} + (pid * {trips} + it) * {half * v} + {r} * {v} + {c}, {s})")
            k = tile(half, True)
            if gate and p.chance(60):
                p.body.append(f"{s} = {s} * {p.pick('0.5', '1.0', '2.0')}")
            if beta and p.chance(50):
                k = p.let("k", f"({k}.to(tl.float32) * {beta}[None, :]).to({cast})")
            p.body.append(f"{s} = tl.dot({k}, {new}, {s}{exact})" if p.chance(60) else f"{s} += tl.dot({k}, {new}{exact})")
            p.body.append(f"{s} = {reduced(s, 64)}")

    for part in p.random.sample([read, update], 2):
        part()
    for s in states:
        y = p.output((p.grid, half, v))
        r, c = matrix(f"tl.arange(0, {half})", f"tl.arange(0, {v})")
        p.after.append(f"tl.store({y} + pid * {half * v} + {r} * {v} + {c}, {s})")
    head = f"for it in {'range(N - 1, -1, -1)' if p.chance(40) else p.pick('range(N)', 'range(0, N)', 'tl.range(0, N)')}:"
    return p.text([(head, p.body)], ["T", "N"], [rows - rest, trips])


# -- gradients --


def gradients(seed):
    p = Program(seed)
    dtype = p.pick("float16", "bfloat16", "float16", "bfloat16", "float32")
    d, t, s = p.pick(32, 64, 64, 128), p.pick(32, 64, 64, 128), p.pick(32, 64, 64, 128)
    t = min(t, 64) if d == 128 else t
    d, s = (min(d, 64), min(s, 64)) if dtype == "float32" else (d, s)
    p.warps = p.pick(4, 8, 8, 8) if t == 128 else p.pick(2, 4, 4, 8, 8) if t == 64 else p.pick(1, 2, 4, 4)
    p.stages, p.grid, cast = p.pick(1, 2, 2, 3, 3, 4), p.pick(1, 2), f"tl.{dtype}"
    p.extra = "(do_not_specialize=['T'])" if p.chance(30) else ""
    trips = [p.random.randint(1, 5) for _ in range(p.pick(1, 1, 2))]
    rows = s * sum(trips) + t * p.grid
    rest, exact = p.random.randint(1, s - 1) if p.chance(30) else 0, EXACT if dtype == "float32" and p.chance(20) else ""
    moving = [p.input((rows, d), dtype) for _ in range(p.random.randint(1, 3))]
    resident = [p.input((t * p.grid, d), dtype) for _ in range(p.pick(1, 2))]
    vectors = [p.input((rows,), "float32", 0, 3) for _ in range(p.random.randint(0, 2))]
    sums = [p.name("acc") for _ in range(p.random.randint(1, 3))]
    own, (r, c) = f"(pid * {t} + tl.arange(0, {t}))", matrix("rows", f"tl.arange(0, {d})")
    p.before.append(f"pid = tl.program_id(0){'.to(tl.int64)' if p.chance(40) else ''}")
    p.before += [f"k{i} = tl.load({x} + {own}[:, None] * {d} + {c})" for i, x in enumerate(resident)]
    p.before += [f"{x} = tl.zeros(({t}, {d}), tl.float32)" for x in sums]
    use_descriptors = p.chance(30)
    if use_descriptors:
        p.before += [f"d{i} = tl.make_tensor_descriptor({x}, [T, {d}], [{d}, 1], [{s}, {d}])" for i, x in enumerate(moving)]
    added, stored = p.output((rows + s, d)), p.output((p.grid, rows + s, d))

    def body(masked):
        p.body = [f"rows = at + tl.arange(0, {s})"]
        for i, x in enumerate(moving):
            mask = ", mask=(rows < T)[:, None], other=0.0" if masked else ""
            p.body.append(f"x{i} = " + (f"d{i}.load([at.to(tl.int32), 0])" if use_descriptors else f"tl.load({x} + {r} * {d} + {c}{mask})"))
        loads = [p.let("v", f"tl.load({x} + rows{', mask=rows < T, other=0.0' if masked else ''})") for x in vectors]
        k, x = lambda: f"k{p.random.randrange(len(resident))}", lambda: f"x{p.random.randrange(len(moving))}"
        scores = []
        for _ in range(p.random.randint(1, 3)):
            turned = p.chance(20)
            a = p.let("s", f"tl.trans(tl.dot({x()}, tl.trans({k()}){exact}))" if turned else f"tl.dot({k()}, tl.trans({x()}){exact})")
            if scores and p.chance(40):
                p.body.append(f"{a} = {a} * {p.pick(*scores)}")
            if loads and p.chance(40):
                p.body.append(f"{a} = {a} {p.pick('+', '-', '*')} {p.pick(*loads)}[None, :]")
            if p.chance(30):
                p.body.append(f"{a} = tl.where({own}[:, None] <= rows[None, :], {a}, 0.0)")
            p.body.append(f"{a} = {reduced(a, 4)}")
            scores.append(a)
        for y in p.random.sample(sums, len(sums)):
            a = f"{p.pick(*scores)}.to({cast})"
            p.body.append(f"{y} = tl.dot({a}, {x()}, {y}{exact})" if p.chance(67) else f"{y} += tl.dot({a}, {x()}{exact})")
            if p.chance(20):
                p.body.append(f"{y} = {reduced(y, 1024)}")
        if p.chance(25):
            o = p.let("o", f"tl.dot(tl.trans({p.pick(*scores)}.to({cast})), {k()}{exact})")
            where = p.pick(f"tl.atomic_add({added}", f"tl.store({stored} + pid * {(rows + s) * d}")
            p.body.append(f"{where} + {r} * {d} + {c}, {o}, mask=(rows < T)[:, None])")
        return p.body

    loops, last, state = [], None, None
    repeats = p.chance(60)  # both loops have the same body
    for i, n in enumerate(trips):
        masked = rest > 0 or p.chance(40)
        low = last if last else p.pick("0", f"pid * {t}")
        last = p.pick(f"{low} + N{i}", f"tl.cdiv(T, {s}) * {s}") if i else f"{low} + N0"
        if repeats and state:
            p.random.setstate(state)
        state = p.random.getstate()
        loops.append((f"for at in {p.pick('range', 'tl.range')}({low}, {last}, {s}):", body(masked or "cdiv" in last)))
    for x in sums:
        y = p.output((t * p.grid, d))
        p.after.append(f"tl.store({y} + {own}[:, None] * {d} + {c}, {x})")
    sizes = [s * n for n in trips] + [0] * (2 - len(trips))
    return p.text(loops, ["T", "N0", "N1"], [rows - rest] + sizes)


# -- runs --


def run(neso, device, path):
    try:
        done = subprocess.run([neso, "run", "--device", device, path], capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "more than 300 s"
    return done.stdout if done.returncode == 0 else done.stderr


def compare(neso, seed):
    """Returns the report of a difference, or None."""
    path = f"{seed}.py"
    with open(path, "w") as file:
        file.write((operands, recurrences, gradients)[seed % 3](seed))
    first, second = run(neso, "interpreter", path), run(neso, "emulator", path)
    if first == second and "error:" not in first:
        os.unlink(path)
        return None
    return f"{path}\ninterpreter: {first[:1000]}\nemulator: {second[:1000]}"


def main():
    neso, count, seed, bad = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for report in pool.map(lambda i: compare(neso, i), range(seed, seed + count)):
            if report:
                bad += 1
                print(report)
    print(f"{count - bad} passed, {bad} failed")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
