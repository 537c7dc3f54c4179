# SPDX-License-Identifier: MIT
"""model.py [inference|training|tuned]: compiles a small transformer with torch.compile, checks its results, and times the first call and
a step. It runs under neso and under Triton, with empty caches (set TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR to empty folders)."""
import sys
import time

import torch
import triton


class Layer(torch.nn.Module):
    def __init__(self, n, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(n), torch.nn.LayerNorm(n)
        self.qkv, self.out = torch.nn.Linear(n, 3 * n), torch.nn.Linear(n, n)
        self.up, self.down = torch.nn.Linear(n, 4 * n), torch.nn.Linear(4 * n, n)

    def forward(self, x):
        b, t, n = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.norm1(x)).chunk(3, -1))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, n))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Model(torch.nn.Module):
    def __init__(self, layers=4, n=256, words=1000):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(words, n), torch.nn.Linear(n, words)
        self.layers = torch.nn.ModuleList([Layer(n, 4) for _ in range(layers)])

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def step(model, ids, training):
    logits = model(ids)
    if not training:
        return logits
    loss = torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]).float(), ids.view(-1))
    loss.backward()
    return loss


def gradients(model):
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return found


def difference(x, y):
    return ((x - y).abs().max() / (y.abs().max() + 1e-6)).item()


def main(mode):
    training = mode == "training"
    torch.manual_seed(0)
    model = Model().cuda().to(torch.bfloat16)
    ids = torch.randint(0, 1000, (8, 256), device="cuda")
    with torch.set_grad_enabled(training):
        expected = step(model, ids, training)
        wanted = gradients(model) if training else {}
        compiled = torch.compile(model, mode="max-autotune-no-cudagraphs" if mode == "tuned" else None)
        torch.cuda.synchronize()
        start = time.perf_counter()
        found = step(compiled, ids, training)
        torch.cuda.synchronize()
        cold = time.perf_counter() - start
        got = gradients(model) if training else {}
        worst = max([difference(found.float(), expected.float())] + [difference(got[k].float(), g.float()) for k, g in wanted.items()])
        times = []
        for _ in range(30):
            start = time.perf_counter()
            step(compiled, ids, training)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
    who = "neso" if "neso" in triton.__file__ else "Triton"
    print(f"model {mode} under {who}: cold {cold:.2f} s, step {1e3 * sorted(times)[len(times) // 2]:.3f} ms, off by {worst:.2g} "
          f"of the largest {'and RIGHT' if worst < 0.05 else 'and WRONG'}", flush=True)
    return worst < 0.05


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1] if sys.argv[1:] else "inference") else 1)
