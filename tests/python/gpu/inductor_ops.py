# SPDX-License-Identifier: MIT
"""inductor_ops.py [--seconds N] [--processes N] [--device cuda] [--only NAME,...]: compiles each operation of PyTorch's own list (OpInfo, with the
inputs that PyTorch's tests use) by torch.compile, and compares results with eager PyTorch's, as the public test_torchinductor_opinfo.py does.

It runs under neso and under Triton; the last line names the failed operations. A second run with --only can try these operations under the other compiler.
"""
import argparse
import os
import subprocess
import sys
import time
import types
import unittest

SAMPLES = 2
RANDOM = ("rand", "bernoulli", "multinomial", "dropout", "normal", "empty", "uniform", "exponential", "geometric", "cauchy", "rrelu")


def operations():
    try:
        import expecttest  # noqa: F401
    except ImportError:  # PyTorch's tests import it; the list of operations does not use it
        sys.modules["expecttest"] = types.SimpleNamespace(TestCase=unittest.TestCase)
    from torch.testing._internal.common_methods_invocations import op_db
    return op_db


def name_of(op):
    return op.name + (f"/{op.variant_test_name}" if op.variant_test_name else "")


def copied(x):
    import torch
    from torch.utils._pytree import tree_map
    return tree_map(lambda t: t.detach().clone() if isinstance(t, torch.Tensor) else t, x)


def check(op, device):
    """Raises an error if a compiled operation differs from the eager one. Returns how many samples it has compared."""
    import torch
    dtype = torch.float32 if torch.float32 in op.supported_dtypes(device) else torch.int64
    is_random, count = any(word in op.name for word in RANDOM), 0
    for sample, _ in zip(op.sample_inputs(device, dtype, requires_grad=False), range(SAMPLES)):
        given = copied((sample.input, sample.args, sample.kwargs))
        try:
            wanted = op.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # PyTorch itself cannot compute the operation here
            continue
        torch._dynamo.reset()
        found = torch.compile(lambda x, args, kwargs: op.op(x, *args, **kwargs))(*given)
        if is_random:
            found, wanted = (torch.utils._pytree.tree_map(lambda t: getattr(t, "shape", t), x) for x in (found, wanted))
            assert found == wanted
        else:
            torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3, equal_nan=True, check_stride=False)
        count += 1
    return count


def worker(index, processes, device, only, seconds):
    end = time.monotonic() + seconds
    import torch
    chosen = [op for op in operations() if not only or name_of(op) in only]
    for op in chosen[index::processes]:
        if time.monotonic() > end:
            print(f"late\t{name_of(op)}", flush=True)
            continue
        try:
            count = check(op, device)
            print(f"{'pass' if count else 'none'}\t{name_of(op)}\t{torch._inductor.metrics.generated_kernel_count}", flush=True)
        except BaseException as e:
            words = " ".join(str(e).split())
            print(f"fail\t{name_of(op)}\t{type(e).__name__}: {words[:300]}", flush=True)
            if "CUDA error" in words or "illegal memory" in words:  # the context is lost
                return


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=int, default=90)
    p.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    p.add_argument("--device", default="cuda")
    p.add_argument("--only", default="")
    p.add_argument("--index", type=int, default=-1)
    args = p.parse_args()
    only = set(filter(None, args.only.split(",")))
    if args.index >= 0:
        return worker(args.index, args.processes, args.device, only, args.seconds)
    command = [sys.executable, os.path.abspath(__file__), "--seconds", str(args.seconds), "--processes", str(args.processes), "--device", args.device,
               "--only", args.only, "--index"]
    env = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1"}
    running = [subprocess.Popen([*command, str(i)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
               for i in range(args.processes)]
    found = {}
    for process in running:
        for line in process.communicate()[0].splitlines():
            parts = line.split("\t")
            if len(parts) > 1 and parts[0] in ("pass", "fail", "none", "late"):
                found.setdefault(parts[0], []).append(parts[1:])
    import triton
    who = "neso" if "neso" in triton.__file__ else "Triton"
    for name, why in found.get("fail", []):
        print(f"{name}: {why}")
    print(f"operations under {who}: {', '.join(f'{len(x)} {kind}' for kind, x in sorted(found.items()))}; "
          f"{sum(int(x[1]) for x in found.get('pass', []))} kernels made")
    print("failed: " + ",".join(name for name, _ in found.get("fail", [])))


if __name__ == "__main__":
    main()
