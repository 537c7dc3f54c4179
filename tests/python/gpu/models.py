# SPDX-License-Identifier: MIT
"""models.py NAME [default|tuned|dynamic]: compiles one of twelve kinds of network with torch.compile, with random weights, for inference
and then for training.

It compares outputs and gradients with eager PyTorch's, and times the first call and a step. It runs under neso and under Triton. To
measure first calls, set TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR to empty folders. Several processes can share a GPU: they measure
steps in rounds, and a lock (GPU_LOCK names its file) lets only one process at a time measure. `models.py` alone lists the names.
"""
import contextlib
import fcntl
import glob
import os
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def heads_apart(x, heads):
    b, t, n = x.shape
    return x.view(b, t, heads, n // heads).transpose(1, 2)


def heads_together(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, h * d)


class Attention(nn.Module):
    def __init__(self, n, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.q, self.kv, self.out = nn.Linear(n, n), nn.Linear(n, 2 * n), nn.Linear(n, n)

    def forward(self, x, other=None):
        k, v = self.kv(x if other is None else other).chunk(2, -1)
        parts = (heads_apart(z, self.heads) for z in (self.q(x), k, v))
        return self.out(heads_together(F.scaled_dot_product_attention(*parts, is_causal=self.causal)))


class EncoderLayer(nn.Module):
    def __init__(self, n, heads, causal=False):
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(n, heads, causal), nn.LayerNorm(n), nn.LayerNorm(n)
        self.mlp = nn.Sequential(nn.Linear(n, 4 * n), nn.GELU(), nn.Linear(4 * n, n))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class EncoderDecoder(nn.Module):
    """A transformer that reads one sequence and writes another. Norms follow the residual additions."""

    def __init__(self, n=256, words=1000):
        super().__init__()
        self.embed = nn.Embedding(words, n)
        self.encoder = nn.ModuleList([EncoderLayer(n, 4) for _ in range(2)])
        self.decoder = nn.ModuleList([EncoderLayer(n, 4, causal=True) for _ in range(2)])
        self.across = nn.ModuleList([Attention(n, 4) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(n), nn.Linear(n, words)

    def forward(self, ids):
        x = y = self.embed(ids)
        for layer in self.encoder:
            x = layer(x)
        for layer, across in zip(self.decoder, self.across):
            y = layer(y)
            y = self.norm(y + across(y, x))
        return self.head(y)


class Mixer(nn.Module):
    """Perceptrons that alternately mix positions and channels."""

    def __init__(self, n=256, places=196, depth=3):
        super().__init__()
        self.patches = nn.Conv2d(3, n, 16, 16)
        make = (lambda k: nn.Sequential(nn.Linear(k, 2 * k), nn.GELU(), nn.Linear(2 * k, k)))
        self.places, self.channels = (nn.ModuleList([make(k) for _ in range(depth)]) for k in (places, n))
        self.norms = nn.ModuleList([nn.LayerNorm(n) for _ in range(2 * depth)])
        self.head = nn.Linear(n, 100)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        for i, (places, channels) in enumerate(zip(self.places, self.channels)):
            x = x + places(self.norms[2 * i](x).transpose(1, 2)).transpose(1, 2)
            x = x + channels(self.norms[2 * i + 1](x))
        return self.head(x.mean(1))


class Residual(nn.Module):
    def __init__(self, n, out, stride):
        super().__init__()
        self.a, self.b = nn.Conv2d(n, out, 3, stride, 1, bias=False), nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.norm_a, self.norm_b = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
        self.short = nn.Conv2d(n, out, 1, stride) if stride > 1 or n != out else nn.Identity()

    def forward(self, x):
        return F.relu(self.short(x) + self.norm_b(self.b(F.relu(self.norm_a(self.a(x))))))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32)
        sizes = [(32, 32, 1), (32, 64, 2), (64, 128, 2)]
        self.blocks, self.head = nn.Sequential(*[Residual(*s) for s in sizes]), nn.Linear(128, 100)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        return self.head(self.blocks(x).mean((2, 3)))


class ConvNext(nn.Module):
    """A network of depthwise convolutions, norms over channels, and perceptrons with a scale for each channel."""

    def __init__(self, n=96, depth=3):
        super().__init__()
        self.stem = nn.Conv2d(3, n, 4, 4)
        self.depthwise = nn.ModuleList([nn.Conv2d(n, n, 7, 1, 3, groups=n) for _ in range(depth)])
        self.norms = nn.ModuleList([nn.LayerNorm(n) for _ in range(depth)])
        self.up, self.down = (nn.ModuleList([nn.Linear(*s) for _ in range(depth)]) for s in ((n, 4 * n), (4 * n, n)))
        self.scale, self.head = nn.Parameter(torch.full((depth, n), 0.1)), nn.Linear(n, 100)

    def forward(self, x):
        x = self.stem(x)
        for i, (depthwise, norm, up, down) in enumerate(zip(self.depthwise, self.norms, self.up, self.down)):
            y = down(F.gelu(up(norm(depthwise(x).permute(0, 2, 3, 1)))))
            x = x + (y * self.scale[i]).permute(0, 3, 1, 2)
        return self.head(x.mean((2, 3)))


class VisionTransformer(nn.Module):
    def __init__(self, n=192):
        super().__init__()
        self.patches = nn.Conv2d(3, n, 16, 16)
        self.first, self.places = nn.Parameter(torch.zeros(1, 1, n)), nn.Parameter(0.02 * torch.randn(1, 197, n))
        self.layers, self.norm = nn.Sequential(*[EncoderLayer(n, 3) for _ in range(3)]), nn.LayerNorm(n)
        self.head = nn.Linear(n, 100)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.norm(self.layers(x))[:, 0])


class Recurrent(nn.Module):
    """An LSTM cell and a GRU cell, written as single operations, in a Python loop over time."""

    def __init__(self, n=256, words=1000):
        super().__init__()
        self.embed, self.n = nn.Embedding(words, n), n
        self.lstm, self.gru_x, self.gru_h = nn.Linear(2 * n, 4 * n), nn.Linear(n, 3 * n), nn.Linear(n, 3 * n)
        self.head = nn.Linear(n, words)

    def forward(self, ids):
        x = self.embed(ids)
        h, c, g = (x.new_zeros(len(ids), self.n) for _ in range(3))
        out = []
        for t in range(6):
            i, f, o, z = self.lstm(torch.cat([x[:, t], h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(z)
            h = torch.sigmoid(o) * torch.tanh(c)
            (r, u, n), (hr, hu, hn) = self.gru_x(h).chunk(3, 1), self.gru_h(g).chunk(3, 1)
            u = torch.sigmoid(u + hu)
            g = u * g + (1 - u) * torch.tanh(n + torch.sigmoid(r + hr) * hn)
            out.append(g)
        return self.head(torch.stack(out, 1))


class UNet(nn.Module):
    def __init__(self, n=32):
        super().__init__()
        make = (lambda a, b: nn.Sequential(nn.Conv2d(a, b, 3, 1, 1), nn.GroupNorm(8, b), nn.SiLU()))
        self.down, self.up = nn.ModuleList([make(3, n), make(n, 2 * n)]), nn.ModuleList([make(6 * n, 2 * n), make(3 * n, n)])
        self.middle, self.out = make(2 * n, 4 * n), nn.Conv2d(n, 3, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](F.avg_pool2d(a, 2))
        c = self.middle(F.avg_pool2d(b, 2))
        c = self.up[0](torch.cat([F.interpolate(c, scale_factor=2.0), b], 1))
        c = self.up[1](torch.cat([F.interpolate(c, scale_factor=2.0), a], 1))
        return self.out(c)


def rms(x, weight):
    return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype) * weight


def rotated(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Gpt(nn.Module):
    """A transformer with rotary positions, SwiGLU, RMS norms, and fewer heads for keys than for queries."""

    def __init__(self, n=256, words=1000, depth=3, heads=4):
        super().__init__()
        self.embed, self.head, self.heads = nn.Embedding(words, n), nn.Linear(n, words, bias=False), heads
        make = (lambda a, b: nn.ModuleList([nn.Linear(a, b, bias=False) for _ in range(depth)]))
        self.q, self.kv, self.out, self.gate, self.up, self.down = (make(n, n), make(n, n), make(n, n), make(n, 2 * n), make(n, 2 * n),
                                                                    make(2 * n, n))
        self.norms = nn.Parameter(torch.ones(2 * depth + 1, n))

    def forward(self, ids):
        x, d = self.embed(ids), self.embed.weight.shape[1] // self.heads
        angle = torch.arange(ids.shape[1], device=ids.device)[:, None] * 10000.0 ** (-torch.arange(0, d, 2, device=ids.device) / d)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        for i, (q, kv, out, gate, up, down) in enumerate(zip(self.q, self.kv, self.out, self.gate, self.up, self.down)):
            y = rms(x, self.norms[2 * i])
            k, v = (heads_apart(z, self.heads // 2).repeat_interleave(2, 1) for z in kv(y).chunk(2, -1))
            q_ = rotated(heads_apart(q(y), self.heads), cos, sin)
            x = x + out(heads_together(F.scaled_dot_product_attention(q_, rotated(k, cos, sin), v, is_causal=True)))
            y = rms(x, self.norms[2 * i + 1])
            x = x + down(F.silu(gate(y)) * up(y))
        return self.head(rms(x, self.norms[-1]))


class T5(nn.Module):
    """A transformer whose attention is written as single operations, with a learned bias for buckets of distances, norms without means,
    and ReLU."""

    def __init__(self, n=256, words=1000, depth=2, heads=4):
        super().__init__()
        self.embed, self.bias, self.heads = nn.Embedding(words, n), nn.Embedding(32, heads), heads
        self.qkv, self.out = (nn.ModuleList([nn.Linear(n, k, bias=False) for _ in range(depth)]) for k in (3 * n, n))
        self.up, self.down = (nn.ModuleList([nn.Linear(*s, bias=False) for _ in range(depth)]) for s in ((n, 4 * n), (4 * n, n)))
        self.norms, self.head = nn.Parameter(torch.ones(2 * depth, n)), nn.Linear(n, words)

    def forward(self, ids):
        x, t = self.embed(ids), torch.arange(ids.shape[1], device=ids.device)
        away = (t[None, :] - t[:, None]).abs()
        bucket = torch.where(away < 16, away, (16 + torch.log2(away.float() / 16 + 1e-6).clamp(min=0) * 4).long().clamp(max=31))
        bias = self.bias(bucket).permute(2, 0, 1)
        for i, (qkv, out, up, down) in enumerate(zip(self.qkv, self.out, self.up, self.down)):
            q, k, v = (heads_apart(z, self.heads) for z in qkv(rms(x, self.norms[2 * i])).chunk(3, -1))
            weights = torch.softmax((q @ k.transpose(-1, -2)).float() * 0.125 + bias, -1).to(x.dtype)
            x = x + out(heads_together(weights @ v))
            x = x + down(F.relu(up(rms(x, self.norms[2 * i + 1]))))
        return self.head(x)


class Experts(nn.Module):
    """Each token uses two of eight perceptrons, which the weights of a softmax select."""

    def __init__(self, n=256, words=1000, experts=8):
        super().__init__()
        self.embed, self.router, self.head = nn.Embedding(words, n), nn.Linear(n, experts), nn.Linear(n, words)
        self.up, self.down = (nn.Parameter(torch.randn(experts, *s) * s[0] ** -0.5) for s in ((n, 2 * n), (2 * n, n)))
        self.norm = nn.LayerNorm(n)

    def forward(self, ids):
        x = self.embed(ids).flatten(0, 1)
        y = self.norm(x)
        weights, chosen = torch.softmax(self.router(y).float(), -1).topk(2, -1)
        mix = torch.zeros(len(y), self.router.out_features, device=y.device).scatter(1, chosen, weights).to(y.dtype)
        out = torch.einsum("etn,te->tn", torch.bmm(F.gelu(torch.bmm(y.expand(len(self.up), -1, -1), self.up)), self.down), mix)
        return self.head(x + out).view(*ids.shape, -1)


class Autoencoder(nn.Module):
    """An autoencoder: convolutions compute a normal distribution, and further convolutions decode a sample of it."""

    def __init__(self, n=32):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, n, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(n, 2 * n, 4, 2, 1), nn.BatchNorm2d(2 * n), nn.ELU())
        self.mean, self.spread = nn.Conv2d(2 * n, n, 1), nn.Conv2d(2 * n, n, 1)
        self.up = nn.Sequential(nn.ConvTranspose2d(n, n, 4, 2, 1), nn.Hardswish(), nn.ConvTranspose2d(n, 3, 4, 2, 1), nn.Sigmoid())

    def forward(self, x):
        y = self.down(x)
        mean, spread = self.mean(y), self.spread(y).clamp(-8, 8)
        return self.up(mean + torch.exp(0.5 * spread) * torch.sin(100 * mean.detach()))


class Recommender(nn.Module):
    """A recommender with many small embedding tables, a bag of words, products of pairs, and perceptrons."""

    def __init__(self, n=32, tables=8, rows=500):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(rows, n) for _ in range(tables)])
        self.bag = nn.EmbeddingBag(rows, n, mode="sum")
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(pairs + n, 256), nn.ReLU(), nn.Dropout(0.0), nn.Linear(256, 100))

    def forward(self, ids):
        found = [table(ids[:, i]) for i, table in enumerate(self.tables)] + [self.tables[0](ids[:, 8:]).sum(1)]
        x = torch.stack(found, 1)
        low = torch.tril_indices(len(found), len(found), -1, device=x.device)
        pairs = (x @ x.transpose(1, 2))[:, low[0], low[1]]
        return self.top(torch.cat([pairs, found[-1]], 1))


def words(batch, length=256):
    return torch.randint(0, 500, (batch, length), device="cuda")


def few_words(batch):
    return words(batch, 24)


def images(batch, size=224):
    return torch.randn(batch, 3, size, size, device="cuda")


def small_images(batch):
    return images(batch, 64)


MODELS = {"encoder-decoder": (EncoderDecoder, words, 8), "mixer": (Mixer, images, 16), "resnet": (ResNet, images, 16),
          "convnext": (ConvNext, images, 16), "vit": (VisionTransformer, images, 16), "recurrent": (Recurrent, words, 64),
          "unet": (UNet, small_images, 16), "gpt": (Gpt, words, 8), "t5": (T5, words, 8), "experts": (Experts, words, 8),
          "autoencoder": (Autoencoder, small_images, 32), "recommender": (Recommender, few_words, 512)}


# -- measuring --

@contextlib.contextmanager
def gpu_alone():
    """Lets only one of the processes that take the lock use the GPU at a time. With GPU_WAIT_FOR=N, processes first wait until N of them
    have arrived, so that none of them is still compiling."""
    if not os.environ.get("GPU_LOCK"):
        yield
        return
    open(f"{os.environ['GPU_LOCK']}.{os.getpid()}", "w").close()
    end = time.monotonic() + 120
    while len(glob.glob(os.environ["GPU_LOCK"] + ".*")) < int(os.environ.get("GPU_WAIT_FOR", "0")) and time.monotonic() < end:
        time.sleep(0.1)
    with open(os.environ["GPU_LOCK"], "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def step(model, x, training):
    with torch.set_grad_enabled(training):
        y = model(x)
    if training:
        (y.float().flatten() * torch.arange(y.numel(), device=y.device).cos()).mean().backward()
    return y.detach()


def results(model, x, training):
    y = step(model, x, training)
    grads = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return {"output": y, **grads}


def rms_of(x):
    return x.float().square().mean().sqrt().item()


def difference(found, wanted):
    """Returns the largest deviation of a tensor, relative to the tensor's size. The size of a gradient counts as at least a hundredth
    of the largest gradient's size, because some gradients are 0 except for rounding."""
    sizes = {name: rms_of(w) for name, w in wanted.items()}
    floor = 0.01 * max([size for name, size in sizes.items() if name != "output"], default=0.0)
    errors = [rms_of(found[name].float() - w.float()) / (max(sizes[name], floor if name != "output" else 0.0) + 1e-30)
              for name, w in wanted.items() if name in found]
    return max(errors) if len(errors) == len(wanted) and all(e == e for e in errors) else float("inf")


def median_steps(models, x, training, steps=20, rounds=5):
    """Returns each model's smallest median of a round, because other work on the machine can only make a round longer."""
    medians = [[] for _ in models]
    for _ in range(rounds):
        with gpu_alone():
            for model, found in zip(models, medians):
                times = []
                torch.cuda.synchronize()
                for _ in range(steps):
                    start = time.perf_counter()
                    step(model, x, training)
                    torch.cuda.synchronize()
                    times.append(time.perf_counter() - start)
                found.append(statistics.median(times))
        time.sleep(0.01)
    for model in models:
        model.zero_grad(set_to_none=True)
    return [min(found) for found in medians]


def graph_of(model, x, training):
    """Returns a CUDA graph of a step, or None if the step cannot be captured. With autocast, the graph casts the weights itself."""
    model.zero_grad(set_to_none=True)
    torch.clear_autocast_cache()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(model, x, training)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    model.zero_grad(set_to_none=True)
    torch.clear_autocast_cache()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            step(model, x, training)
    except RuntimeError as e:
        print(f"no graph: {str(e)[:200]}", flush=True)
        graph = None
    torch.clear_autocast_cache()
    return graph


def replay_times(models, x, training, replays=60, rounds=4):
    """Returns the milliseconds of a replay of each model's step as a CUDA graph (nan without a graph): the median of the rounds. A replay
    does not wait for the host. Other work on the host changes the times of steps by a fifth."""
    with gpu_alone():
        graphs = [graph_of(m, x, training) for m in models]
    found = [[] for _ in graphs]
    for _ in range(rounds):
        with gpu_alone():
            for graph, times in zip(graphs, found):
                if graph:
                    times.append(replay_time(graph, replays))
        time.sleep(0.01)
    for model in models:
        model.zero_grad(set_to_none=True)
    return [statistics.median(times) if times else float("nan") for times in found]


def replay_time(graph, replays):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(5):
        graph.replay()
    begin.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / replays


def gpu_times(model, x, training, steps=10):
    """Returns the milliseconds that all kernels of a step take on the GPU, and the milliseconds of the kernels that the
    compiler made."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile
    with gpu_alone():
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as p:
            for _ in range(steps):
                step(model, x, training)
            torch.cuda.synchronize()
    model.zero_grad(set_to_none=True)
    events = [e for e in p.key_averages() if e.device_type == DeviceType.CUDA]
    return [sum(e.self_device_time_total for e in events if e.key.startswith(name)) / steps / 1000 for name in ("", "triton_")]


def one(name, mode, training):
    """Measures a network, and prints whether its results are right. The error of the results, relative to eager PyTorch in float32,
    may be at most twice the error of eager PyTorch with the same types."""
    import triton
    make, data, batch = MODELS[name]
    torch.manual_seed(0)
    model = make().cuda().train(training)
    x = data(batch)
    exact = results(model, x, training)
    torch.backends.cudnn.allow_tf32 = False
    with torch.autocast("cuda", torch.bfloat16, enabled=data in (words, few_words)):  # float32 for images, because sums over positions cancel
        rounded = difference(results(model, x, training), exact)
        compiled = torch.compile(model, mode="max-autotune-no-cudagraphs" if mode == "tuned" else None,
                                 dynamic=True if mode == "dynamic" else None)
        torch.cuda.synchronize()
        start = time.perf_counter()
        found = results(compiled, x, training)
        torch.cuda.synchronize()
        cold = time.perf_counter() - start
        found = {k.removeprefix("_orig_mod."): v for k, v in found.items()}
        worst = difference(found, exact)
        if mode == "dynamic":
            for other in (batch // 2 + 1, batch + 3):
                y = data(other)
                worst = max(worst, difference({k.removeprefix("_orig_mod."): v for k, v in results(compiled, y, training).items()},
                                              results(model, y, training)))
    right = worst < max(0.02, 2 * rounded)
    who = "neso" if "neso" in triton.__file__ else "Triton"
    print(f"model {name} {mode} {'training' if training else 'inference'} under {who}: cold {cold:.2f} s, off by {worst:.2g} "
          f"(eager {rounded:.2g}) {'RIGHT' if right else 'WRONG'}", flush=True)

    def measure():
        with torch.autocast("cuda", torch.bfloat16, enabled=data in (words, few_words)):
            found, eager = median_steps([compiled, model], x, training)
            gpu, kernels = gpu_times(compiled, x, training)
            graph, control = replay_times([compiled, model], x, training)
        print(f"model {name} {mode} {'training' if training else 'inference'} under {who}: step {1e3 * found:.3f} ms, eager {1e3 * eager:.3f} ms, "
              f"gpu {gpu:.4f} ms, kernels {kernels:.4f} ms, graph {graph:.4f} ms, control {control:.4f} ms", flush=True)

    return right, measure


def main(name, mode="default", parts="inference,training"):
    """Measures the first calls, then the steps; with GPU_WAIT_FOR the steps begin when all processes have compiled."""
    found = [one(name, mode, part == "training") for part in parts.split(",")]
    for _, measure in found:
        measure()
    return all(right for right, _ in found)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("\n".join(MODELS))
    else:
        sys.exit(0 if main(*sys.argv[1:]) else 1)
