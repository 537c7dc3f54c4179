# SPDX-License-Identifier: MIT
"""backward.py: measures backward attention (tests/programs/attention_backward.py) of neso, Triton and cuDNN (called by PyTorch), at
sustained load.

    python3 bench/peers/backward.py OUT.json [SHAPE...]     SHAPE and VARIANTS are as for attend.py, without groups

neso and Triton try the same tiles in a short trial, and each uses the fastest tile for itself. Each result is compared with cuDNN's.
The measured kernel takes the row sums of o * do as an input, but cuDNN computes these sums. So the contestants named `row sums` also
launch the kernel that computes them.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("tests/programs", "bench/peers", "bench", "runtime/python")]
SOURCE = "../../tests/programs/attention_backward"
SHAPES = ["32x4096x64", "32x4096x64c", "16x4096x128", "16x4096x128c"]
# short side, long side, warps, stages
TILES = [(32, 128, 4, 5), (64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 8, 2), (64, 128, 8, 3), (64, 128, 4, 3), (128, 128, 8, 2),
         (128, 128, 8, 3)]
LOG2E = 1.4426950408889634


class Problem:
    def __init__(self, shape):
        self.heads, self.n, self.d, self.causal, _ = attend.parse(shape)
        make = lambda: torch.randn(self.heads, self.n, self.d, device="cuda").to(torch.float16)  # noqa: E731
        self.q, self.k, self.v, self.do = make(), make(), make(), make()
        self.scale = self.d ** -0.5
        self.dq, self.dk, self.dv = self.found = [torch.empty_like(self.q) for _ in range(3)]
        self.graph = self.forward()
        self.expected = [g[0].float() for g in self.cudnn()()]
        o = self.graph[0].detach()[0].contiguous()
        self.delta = (o.float() * self.do.float()).sum(2)
        self.scaled = (self.k * (self.scale * LOG2E)).to(torch.float16)
        self.lse = self.sums()
        size = self.heads * self.n * self.d
        self.args = [self.q, self.scaled, self.v, self.scale, self.do, *self.found, self.lse, self.delta, size, self.n * self.d,
                     self.d, 1, self.heads, self.n]
        self.row_args = [o, self.do, self.delta]

    def forward(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        inputs = [x[None].detach().requires_grad_() for x in (self.q, self.k, self.v)]
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=self.causal, scale=self.scale), inputs

    def sums(self):
        """Returns the base-2 logarithm of the sum over each row of exp(scores), as the kernel expects it."""
        lse = torch.empty_like(self.delta)
        for h in range(self.heads):
            s = (self.q[h].float() @ self.k[h].float().t()) * self.scale
            if self.causal:
                s.masked_fill_(torch.ones_like(s, dtype=torch.bool).triu(1), float("-inf"))
            lse[h] = torch.logsumexp(s, 1) * LOG2E
        return lse

    def cudnn(self):
        o, inputs = self.graph
        return lambda: torch.autograd.grad(o, inputs, self.do[None], retain_graph=True)

    def wrong(self, _):
        for name, found, expected in zip(("dq", "dk", "dv"), self.found, self.expected):
            why = contest.far_from(expected, 5e-3)(found)
            if why:
                return f"{name} {why}"
        return None

    def ours(self, ours, tile, options, row_sums=False):
        short, long, warps, stages = tile
        signature, values = compiling.specialize(self.args)
        text = ", ".join([signature, str(self.causal), str(short), str(long), str(self.d)])
        future = ours.start(SOURCE, "backward", text, num_warps=warps, num_stages=stages, **options)
        row_text, row_values = compiling.specialize(self.row_args)
        row_future = ours.start(SOURCE, "row_sums", f"{row_text}, {self.d}, 32")

        def make():
            kernel = future.result().bind((self.n // long, 1, self.heads), *values)
            rows = row_future.result().bind((self.heads * self.n // 32,), *row_values)
            return (lambda: (rows(), kernel())) if row_sums else kernel
        return make

    def triton(self, tile):
        short, long, warps, stages = tile
        grid = (self.n // long, 1, self.heads)
        return lambda: lambda: attention_backward.backward[grid](*self.args, CAUSAL=self.causal, SHORT=short, LONG=long, D=self.d,
                                                                 num_warps=warps, num_stages=stages)


def label(tile):
    return "%dx%d w%d s%d" % tile


def jobs():
    pairs = {attend.parse(s)[2:4] for s in sys.argv[2:] or SHAPES}
    sizes = [32 * 4096 * 64, 4096 * 64]
    return [("attention_backward", "backward", ["fp16"] * 3 + [0.125] + ["fp16"] * 4 + ["fp32"] * 2 + sizes + [d, 1, 32, 4096],
             {"CAUSAL": causal, "SHORT": tile[0], "LONG": tile[1], "D": d}, {"num_warps": tile[2], "num_stages": tile[3]})
            for d, causal in pairs for tile in TILES]


def row(results, ours, shape):
    p = Problem(shape)
    made = {who: {label(t): p.ours(ours, t, options) for t in TILES} for who, options in attend.variants().items()}
    made["triton"] = {label(t): p.triton(t) for t in TILES}
    calls, labels = attend.fastest(made, p.dq, p.wrong)
    calls["cudnn"], labels["cudnn"] = p.cudnn(), ""
    if "neso" in calls:
        tile = next(t for t in TILES if label(t) == labels["neso"])
        calls["neso, row sums"], labels["neso, row sums"] = p.ours(ours, tile, {}, row_sums=True)(), labels["neso"]
    attend.report(results, "attention backward", shape, calls, labels)


if __name__ == "__main__":
    import torch
    import attend
    import attention_backward
    import compiling
    import contest
    attend.torch, attend.compiling, attend.contest = torch, compiling, contest
    attend.measure(row, jobs(), SHAPES)
