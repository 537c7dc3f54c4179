# SPDX-License-Identifier: MIT
"""triton.profiler.viewer in neso: prints the tree of a file that triton.profiler wrote.

    tree, metrics = parse(["time/ms", "tflop16/s"], "matmul.hatchet")
    print_tree(tree, metrics)
"""
import json
import re
import sys

_SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SCALES = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def _metric(word):
    """Returns a function from a node's numbers to the metric that the word names."""
    time = re.fullmatch(r"(avg_)?(cpu_)?time/(s|ms|us|ns)", word)
    rate = re.fullmatch(r"([kmgt]?)(flop(?:8|16|32|64)?|byte)/s", word)
    if time:
        name = "cpu_time (ns)(exc)" if time[2] else "time (ns)"
        return lambda x: x.get(name, 0) * 1e-9 / _SECONDS[time[3]] / (x.get("count", 1) if time[1] else 1) if name in x else None
    if rate:
        name = re.sub(r"^(flop|byte)", r"\1s", rate[2])
        names = [name] if name != "flops" else ["flops", "flops8", "flops16", "flops32", "flops64"]
        return lambda x: (sum(x.get(n, 0) for n in names) / (x["time (ns)"] * 1e-9) / _SCALES[rate[1]]
                          if x.get("time (ns)") and any(n in x for n in names) else None)
    return lambda x: x.get(word)


def _inclusive(node):
    """Sets node["all"], for each node, to the sums of its numbers and the numbers of the nodes below it."""
    total = {k: x for k, x in node["metrics"].items() if not isinstance(x, str)}
    for child in node["children"]:
        for k, x in _inclusive(child).items():
            total[k] = total.get(k, 0) + x
    node["all"] = total
    return total


def _kept(node, keep):
    """Returns the node with the nodes below it that `keep` accepts, or that have such nodes below them; None if there are
    none."""
    children = [x for x in (_kept(child, keep) for child in node["children"]) if x]
    return {**node, "children": children} if children or keep(node) else None


def parse(metrics, filename, include=None, exclude=None, threshold=None):
    """Returns (the tree, the metrics that it has). `include` and `exclude` are patterns of nodes' names; `threshold` is the least share of the
    first metric of the whole tree."""
    with open(filename) as f:
        tree = json.load(f)[0]
    _inclusive(tree)
    known = [m for m in metrics if _metric(m)(tree["all"]) is not None or _any(tree, _metric(m))]
    if not known:
        raise ValueError(f"{filename} has none of {', '.join(metrics)}: its numbers are {', '.join(sorted(tree['all']))}")
    first = _metric(known[0])
    least = (threshold or 0) * (first(tree["all"]) or 0)
    tree = _kept(tree, lambda node: (include is None or re.search(include, node["frame"]["name"])) and
                 not (exclude and re.search(exclude, node["frame"]["name"])) and (not least or (first(node["all"]) or 0) >= least))
    return tree, known


def _any(node, metric):
    return metric(node["all"]) is not None or any(_any(child, metric) for child in node["children"])


def print_tree(tree, metrics, depth=100, format=None, precision=3):
    """Prints the tree with the values of its metrics."""
    def walk(node, before, last, level):
        shown = [(m, _metric(m)(node["all"])) for m in metrics]
        values = " ".join("-" if x is None else f"{x:.{precision}f}" for _, x in shown)
        sys.stdout.write(f"{before}{'' if level == 0 else '└─ ' if last else '├─ '}{values} {node['frame']['name']}\n")
        inner = before + ("" if level == 0 else "   " if last else "│  ")
        children = node["children"] if level < depth else []
        for i, child in enumerate(children):
            walk(child, inner, i + 1 == len(children), level + 1)

    sys.stdout.write(" ".join(metrics) + "\n")
    if tree:
        walk(tree, "", True, 0)
