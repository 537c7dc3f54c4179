# SPDX-License-Identifier: MIT
"""plots.py: draws recorded results: the rate as a function of the size, with a line for each contestant.

    python3 bench/plots.py RESULTS.json FOLDER

Results of row-wise and elementwise kernels (bench/peers/lanes.py) become one plot of ratios, with a line for each
kernel.
"""
import math
import os
import sys
from xml.sax.saxutils import escape

import report

# contestant: shown name, colour, dashes
LINES = {"neso": ("neso", "#d1495b", ""), "cublas": ("cuBLAS", "#2e7d32", ""), "reference": ("PTX by hand", "#555555", "2 4"),
         "triton": ("Triton, same source", "#1f5fa8", ""), "triton persistent": ("Triton, persistent", "#1f5fa8", "6 4"),
         "torch": ("PyTorch", "#c77700", ""), "copy": ("device copy", "#555555", "2 4")}
# file: title, group, the prefix of the works' names, the name of the x axis
PLOTS = {"matmul-fp16": ("The announcement's matmul, fp16, n x n x n", "announced", "fp16 n=", "n"),
         "matmul-bf16": ("The announcement's matmul, bf16, n x n x n", "announced", "bf16 n=", "n"),
         "softmax": ("Softmax of 4096 rows, f32", "softmax", "softmax f32 4096x", "columns"),
         "layer_norm": ("Layer norm of 4096 rows, f16", "norms", "layer_norm f16 4096x", "columns"),
         "rms_norm": ("RMS norm of 4096 rows, f16", "norms", "rms_norm f16 4096x", "columns")}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 880, 420, 70, 220, 50, 75
LABEL_GAP, TICK_GAP = 17, 44


def series(rows, group, start):
    """Returns {contestant: [(x, rate)]} in the order of LINES, and the unit."""
    found, unit = {}, ""
    for (g, work, who), row in rows.items():
        if g == group and work.startswith(start) and who in LINES and "rate" in row:
            found.setdefault(who, []).append((int(work[len(start):]), row["rate"]))
            unit = row["unit"]
    return {who: sorted(found[who]) for who in LINES if who in found}, unit


def step_of(most):
    """Returns a round step size that divides the range from 0 to `most` into four to eight parts."""
    power = 10 ** math.floor(math.log10(most / 4))
    return next(power * f for f in (1, 2, 2.5, 5, 10) if most / (power * f) <= 8)


def apart(places):
    """Returns vertical places for the labels at the ends of lines, ordered from the top and at least LABEL_GAP apart."""
    order = sorted(places, key=places.get)
    at = {}
    for i, name in enumerate(order):
        at[name] = max(places[name], at[order[i - 1]] + LABEL_GAP) if i else places[name]
    over = max(0, at[order[-1]] - (HEIGHT - BOTTOM)) if order else 0
    return {name: y - over for name, y in at.items()}


def text(x, y, words, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def draw(title, x_name, unit, lines, note):
    xs = sorted({x for points in lines.values() for x, _ in points})
    most = max(y for points in lines.values() for _, y in points)
    step = step_of(most)
    top = step * math.ceil(most / step)
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    octaves = math.log2(xs[-1] / xs[0]) or 1

    def at(x, y):
        return LEFT + width * math.log2(x / xs[0]) / octaves, TOP + height * (1 - y / top)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="system-ui, sans-serif" font-size="13" fill="#222222">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>', text(LEFT, 26, f"{title}: {unit}", more='font-size="16"')]
    for i in range(round(top / step) + 1):
        y = at(xs[0], i * step)[1]
        out.append(f'<path d="M{LEFT} {y:.1f}H{LEFT + width}" stroke="#dddddd"/>' + text(LEFT - 8, y + 4, f"{i * step:g}", "end"))
    before, lower = -TICK_GAP, 0
    for x in xs:
        place = at(x, 0)
        lower = 13 if place[0] - before < TICK_GAP and not lower else 0
        before = place[0]
        out.append(f'<path d="M{place[0]:.1f} {place[1]:.1f}v5" stroke="#222222"/>' + text(place[0], place[1] + 19 + lower, str(x), "middle",
                                                                                     'font-size="11"'))
    out.append(text(LEFT + width / 2, HEIGHT - 24, x_name, "middle"))
    out.append(text(LEFT, HEIGHT - 8, note, more='font-size="10" fill="#666666"'))
    ends = apart({who: at(*points[-1])[1] for who, points in lines.items()})
    for who, points in reversed(lines.items()):  # draws neso's line last, above the others
        name, colour, dashes = LINES[who]
        places = [at(*p) for p in points]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        thick = 2.5 if who == "neso" else 1.6
        out.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{thick}" stroke-dasharray="{dashes}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{thick + 0.8:.1f}" fill="{colour}"/>' for x, y in places]
        out.append(f'<path d="M{places[-1][0] + 5:.1f} {places[-1][1]:.1f}L{places[-1][0] + 18:.1f} {ends[who]:.1f}" stroke="{colour}" '
                   'stroke-width="0.7"/>')
        weight = ' font-weight="bold"' if who == "neso" else ""
        out.append(text(places[-1][0] + 22, ends[who] + 4, f"{name} ({points[-1][1]:.0f})", more=f'fill="{colour}"{weight}'))
    return "\n".join(out) + "\n</svg>\n"


LEAST, MOST, LINE = 1 / 4, 4, 15  # LEAST, MOST: the ratios at the edges; LINE: the height of a kernel's line


def ratios(rows, group):
    """Returns [(work, {contestant: speed relative to Triton})] in the order of the results."""
    found = {}
    for (g, work, who), row in rows.items():
        triton = rows.get((g, work, "triton"), {})
        if g == group and who in LINES and who != "triton" and "ms" in row and "ms" in triton:
            found.setdefault(work, {})[who] = triton["ms"] / row["ms"]
    return list(found.items())


def draw_ratios(title, lines, note):
    left, right, top = 330, 40, 62
    height = top + LINE * len(lines) + 60
    width = WIDTH - left - right

    def at(ratio):
        share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
        return left + width * share
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           'font-family="system-ui, sans-serif" font-size="11" fill="#222222">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', text(20, 24, title, more='font-size="16"')]
    for i, who in enumerate(w for w in LINES if any(w in found for _, found in lines)):
        out.append(f'<circle cx="{left + 110 * i}" cy="41" r="4" fill="{LINES[who][1]}"/>' + text(left + 110 * i + 9, 45, LINES[who][0]))
    for ratio in (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4):
        x, colour = at(ratio), "#888888" if ratio == 1 else "#dddddd"
        out.append(f'<path d="M{x:.1f} {top - 8}V{height - 48}" stroke="{colour}"/>' + text(x, height - 34, f"{ratio:g}", "middle"))
    for i, (work, found) in enumerate(lines):
        y = top + LINE * i
        out.append(text(left - 12, y + 4, work, "end"))
        out += [f'<circle cx="{at(x):.1f}" cy="{y}" r="{4 if who == "neso" else 2.8}" fill="{LINES[who][1]}"/>'
                for who, x in sorted(found.items(), key=lambda f: f[0] == "neso")]
    out.append(text(left, height - 8, note, more='font-size="10" fill="#666666"'))
    return "\n".join(out) + "\n</svg>\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    card, rows = report.merge([sys.argv[1]])
    note = f"{card.get('device')}, driver {card.get('driver')}; contestants measured alternately in one process"
    for name, (title, group, start, x_name) in PLOTS.items():
        lines, unit = series(rows, group, start)
        if lines:
            with open(os.path.join(sys.argv[2], name + ".svg"), "w") as f:
                f.write(draw(title, x_name, unit, lines, note))
            print(os.path.join(sys.argv[2], name + ".svg"))
    lines = ratios(rows, "rows")
    if lines:
        with open(os.path.join(sys.argv[2], "rows.svg"), "w") as f:
            f.write(draw_ratios("Kernels of rows and lanes: times as fast as Triton", lines, note))
        print(os.path.join(sys.argv[2], "rows.svg"))


if __name__ == "__main__":
    main()
