# SPDX-License-Identifier: MIT
"""public.py: measures kernels of public code that nobody tuned for neso: flash-linear-attention and Liger-Kernel, forward and backward.

    python3 bench/peers/public.py OUT.json [OPERATOR...]      the packages fla-core, flash-linear-attention, liger-kernel and einops must be
                                                              importable; STAGES=N (default 2) chooses a configuration

Each operator runs once under Triton. Every kernel that it launches is then launched again, with the same arguments, by Triton
and by neso (from source.py's text of the kernel) with the same configuration, alternated at random at sustained load. A tuned kernel has one
configuration: that whose warps are nearest to 4, and whose stages to STAGES. A row also names a tensor for which neso's result differs from
Triton's by more than 1 percent of the largest element. (A gradient whose exact value is 0 differs by its rounding.)
"""
import concurrent.futures
import functools
import importlib
import math
import os
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ("..", "../../runtime/python", "../../tests/replay", ".")]
WARMERS = min(10, os.cpu_count() or 1)  # processes that compile with Triton
LEAST_US = 30  # below, Triton's time is that of its launch
B, T = 2, 4096


def operators():
    """Returns {name: a function that runs the operator on real sizes, and returns what to differentiate}."""
    bf, fp32 = torch.bfloat16, torch.float32

    def r(*shape, dtype=bf):
        return torch.randn(*shape, device="cuda", dtype=dtype).requires_grad_()

    def gates(*shape, dtype=fp32):
        return torch.nn.functional.logsigmoid(torch.randn(*shape, device="cuda")).to(dtype).requires_grad_()

    def unit(x):
        return torch.nn.functional.normalize(x.detach().float(), dim=-1).to(x.dtype).requires_grad_()

    def qkv(h=16, k=128, v=128):
        return r(B, T, h, k), r(B, T, h, k), r(B, T, h, v)

    def units(h=16, k=128, v=128):
        q, k, v = qkv(h, k, v)
        return unit(q), unit(k), v

    def fla(module, name, *args, **options):
        return getattr(importlib.import_module("fla.ops." + module), name)(*args, **options)

    def beta(h=16, dtype=bf):
        return r(B, T, h, dtype=dtype).sigmoid()

    def rwkv7():
        q, k, v = qkv(32, 64, 64)
        kk = unit(k)
        return fla("rwkv7", "chunk_rwkv7", q, gates(B, T, 32, 64, dtype=bf), k, v, (-kk).detach().requires_grad_(),
                   (kk * torch.rand_like(kk)).detach().requires_grad_())

    def norms():
        m = importlib.import_module("fla.modules")
        x = r(B, T, 2048)
        made = [m.RMSNorm(2048), m.LayerNorm(2048), m.GroupNorm(16, 2048)]
        outs = [layer.cuda().to(bf)(x) for layer in made]
        outs += [m.FusedRMSNormGated(2048).cuda().to(bf)(x, r(B, T, 2048)), m.ShortConvolution(2048, 4, activation="silu").cuda().to(bf)(x)[0],
                 m.RotaryEmbedding(128).cuda()(r(B, T, 16, 128), r(B, T, 16, 128))[0]]
        return sum(o.float().sum() for o in outs)

    def liger():
        def apply(module, function, *args):
            return getattr(importlib.import_module("liger_kernel.ops." + module), function).apply(*args).float().sum()
        x, wide = r(4096, 4096), [r(4096, 8192) for _ in range(4)]
        return (apply("rms_norm", "LigerRMSNormFunction", x, r(4096), 1e-6, 0.0, "llama", False) + apply("swiglu", "LigerSiLUMulFunction", *wide[:2]) +
                apply("geglu", "LigerGELUMulFunction", *wide[2:]) + apply("layer_norm", "LigerLayerNormFunction", x, r(4096), r(4096), 1e-5) +
                apply("kl_div", "LigerKLDivLossFunction", torch.log_softmax(r(2048, 32000, dtype=fp32), -1), torch.softmax(r(2048, 32000, dtype=fp32), -1).detach()))

    simple = "simple_gla"
    return {
        "gla": lambda: fla("gla", "chunk_gla", *qkv(8, 128, 256), gates(B, T, 8, 128, dtype=bf)),
        "retention": lambda: fla("retention", "chunk_retention", *qkv(8, 128, 256)),
        "parallel_retention": lambda: fla("retention", "parallel_retention", *qkv(8, 128, 256)),
        "simple_gla": lambda: fla(simple, "chunk_simple_gla", *qkv(), g=gates(B, T, 16)),
        "parallel_simple_gla": lambda: fla(simple, "parallel_simple_gla", *qkv(), g=gates(B, T, 16)),
        "delta": lambda: fla("delta_rule", "chunk_delta_rule", *units(), beta()),
        "gated_delta": lambda: fla("gated_delta_rule", "chunk_gated_delta_rule", *units(), g=gates(B, T, 16), beta=beta()),
        "kda": lambda: fla("kda", "chunk_kda", *units(), g=gates(B, T, 16, 128), beta=beta()),
        "rwkv6": lambda: fla("rwkv6", "chunk_rwkv6", *qkv(32, 64, 64), gates(B, T, 32, 64, dtype=bf), r(32, 64)),
        "rwkv7": rwkv7,
        "gsa": lambda: fla("gsa", "chunk_gsa", *qkv(8), r(B, T, 8, 64), gates(B, T, 8, 64, dtype=bf)),
        "attn": lambda: fla("attn", "parallel_attn", *qkv()),
        "attn64": lambda: fla("attn", "parallel_attn", *qkv(16, 64, 64)),
        "forgetting": lambda: fla("forgetting_attn", "parallel_forgetting_attn", *qkv(), gates(B, T, 16)),
        "based": lambda: fla("based", "parallel_based", *qkv(16, 16, 128)),
        "fused_based": lambda: fla("based", "fused_chunk_based", *qkv(16, 16, 128)),
        "path": lambda: fla("path_attn", "parallel_path_attn", *qkv(8, 64, 64), unit(r(B, T, 8, 64, dtype=fp32)), beta(8, fp32) * 2, gates(B, T, 8)),
        "mesa": lambda: fla("mesa_net", "chunk_mesa_net", *units(8), gates(B, T, 8), beta(8), torch.rand(8, 128, device="cuda").add(0.25).requires_grad_()),
        "stickbreaking": lambda: fla("stickbreaking_attn", "parallel_stickbreaking_attn", *qkv(16, 64, 64))[0],
        "lightning": lambda: fla("lightning_attn", "chunk_lightning_attn", *qkv(), 3, 12),
        "hgrn": lambda: fla("hgrn", "chunk_hgrn", r(B, T, 2048), gates(B, T, 2048, dtype=bf)),
        "norms": norms,
        "liger": liger,
    }


def choose_one_configuration(init):
    def nearest(config):
        return abs(math.log2(config.num_warps / 4)), abs(config.num_stages - int(os.environ.get("STAGES", 2))), -config.num_stages

    @functools.wraps(init)
    def init_one(self, *args, **options):
        init(self, *args, **options)
        best = min(map(nearest, self.configs))
        some = [c for c in self.configs if nearest(c) == best]
        self.configs = [some[len(some) // 2]]
    return init_one


class Addresses:
    """Stands for recorder.Memory: a tensor's place is its address."""
    place = staticmethod(lambda tensor: tensor.data_ptr())


class Recording:
    """The first launch of each specialization: (operator, function, arguments, grid, recorder.Specialization, the values that it passes)."""

    def __init__(self):
        self.rows, self.state, self.operator = [], threading.local(), ""
        self.run, self.do_compile = JITFunction.run, JITFunction._do_compile
        recording = self

        def run(fn, *args, grid, warmup, **options):
            outer, launch = getattr(recording.state, "launch", None), {"fn": fn, "args": args, "options": options, "grid": grid}
            recording.state.launch = None if warmup or outer else launch
            try:
                return recording.run(fn, *args, grid=grid, warmup=warmup, **options)
            finally:
                recording.state.launch = outer
                if "row" in launch:
                    recording.rows.append(launch["row"])

        def do_compile(fn, key, signature, device, constexprs, options, attrs, warmup):
            kernel = recording.do_compile(fn, key, signature, device, constexprs, options, attrs, warmup)
            launch = getattr(recording.state, "launch", None)
            if launch and launch["fn"] is fn and kernel is not None:
                spec = recorder.Specialization(fn, signature, constexprs, options, attrs)
                bound = fn.signature.bind(*launch["args"], **{k: v for k, v in launch["options"].items() if k in fn.signature.parameters})
                bound.apply_defaults()
                grid = launch["grid"](dict(bound.arguments)) if callable(launch["grid"]) else launch["grid"]
                launch["row"] = (recording.operator, fn, (launch["args"], launch["options"]), (*grid, 1, 1)[:3], spec, spec.values(bound.arguments, Addresses))
            return kernel
        JITFunction.run, JITFunction._do_compile = run, do_compile

    def record(self, words):
        for name, operator in operators().items():
            if words and name not in words:
                continue
            self.operator = name
            try:
                out = operator()
                out = out[0] if isinstance(out, tuple) else out
                out.backward(torch.randn_like(out))
                torch.cuda.synchronize()
            except Exception as e:  # for example, a configuration needs too much shared memory
                print(f"  {name}: {contest.first_line(e)}", flush=True)


_of_thread = threading.local()


def compiled(spec):
    """Returns the kernel that neso compiles. Only one thread at a time may use a context, so each thread has its own."""
    context = _of_thread.__dict__.setdefault("context", None) or neso.Context("cuda")
    _of_thread.context = context
    texts = dict(spec.texts)
    module = context.source(spec.main + ".py", texts.pop(spec.main), texts)
    return module.kernel(spec.fn.fn.__name__, spec.text, num_warps=spec.options["num_warps"] or 0, num_stages=spec.options["num_stages"] or 0,
                         max_registers=spec.options.get("maxnreg") or 0)


def differences(tensors, triton_call, neso_call):
    """Runs both calls on the same contents. Returns the tensors whose results differ, as text."""
    def after(call):
        for t, b in zip(tensors, before):
            t.detach().copy_(b)
        call()
        torch.cuda.synchronize()
        return [t.detach().clone() for t in tensors]

    def far(x, y):
        return (x.float() - y.float()).abs().nan_to_num(0).max().item() / max(y.float().abs().nan_to_num(0).max().item(), 1e-9)
    before = [t.detach().clone() for t in tensors]
    expected, found = after(triton_call), after(neso_call)
    bad = [i for i, (x, y) in enumerate(zip(found, expected)) if y.is_floating_point() and (far(x, y) > 1e-2 or not torch.equal(x.isnan(), y.isnan()))]
    return f"  tensors {bad} differ" if bad else ""


def measure(results, recording):
    pool = concurrent.futures.ThreadPoolExecutor(min(12, os.cpu_count() or 1))
    futures, found = [pool.submit(compiled, row[4]) for row in recording.rows], []
    for (operator, fn, (args, options), grid, spec, values), future in zip(recording.rows, futures):
        name = f"{operator}: {fn.fn.__name__}, {spec.options['num_warps']} warps, {spec.options['num_stages']} stages"
        tensors = [a for a in (*args, *options.values()) if isinstance(a, torch.Tensor)]
        calls = {"triton": functools.partial(recording.run, fn, *args, grid=grid, warmup=False, **options)}
        try:
            calls["neso"] = future.result().bind(grid, *values)
            differ = differences(tensors, calls["triton"], calls["neso"])
            times = {who: 1e3 * ms for who, (ms, _) in attend.sustained(calls, 15, 3).items()}
        except Exception as e:
            print(f"  {name}: {contest.first_line(e)}", flush=True)
            continue
        ratio = times["triton"] / times["neso"]
        if times["triton"] > LEAST_US:
            found.append(ratio)
        results.add({"group": "public", "work": name, "us": {who: round(t, 2) for who, t in times.items()}})
        print(f"{name:80} triton {times['triton']:.1f}  neso {times['neso']:.1f} ({ratio:.3f}){differ}", flush=True)
    print(f"{len(found)} rows longer than {LEAST_US} us: geometric mean {math.exp(sum(map(math.log, found)) / len(found)):.3f} of Triton, least {min(found):.3f}, "
          f"{sum(x < 0.97 for x in found)} under 0.97, {sum(x < 0.9 for x in found)} under 0.90", flush=True)


def main():
    path, *words = sys.argv[1:]
    Autotuner.__init__ = choose_one_configuration(Autotuner.__init__)
    torch.manual_seed(0)
    recording = Recording()
    if path == "warm":  # fills Triton's cache with one part of the operators
        recording.record(list(operators())[int(words[0])::WARMERS])
        return
    children = [] if words else [subprocess.Popen([sys.executable, __file__, "warm", str(i)], stdout=subprocess.DEVNULL) for i in range(WARMERS)]
    for child in children:
        child.wait()
    recording.record(words)
    with torch.no_grad():
        measure(contest.Results(path), recording)


if __name__ == "__main__":
    import torch
    import attend
    import contest
    import neso
    import recorder
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction
    attend.torch = torch
    main()
