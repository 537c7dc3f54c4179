# runs: interpreter emulator cuda (not triton: its tuner skips fewer errors; not triton-interpret: it does not tune)
# Tuning skips configurations that do not compile or do not fit, and undoes what its trials write to tensors. Hooks get the arguments.
import torch
import triton
import triton.language as tl

seen = []


def prune(configs, named_args, **kwargs):
    seen.append(('pruned', sorted(named_args)[:1], kwargs['UNIT']))
    return [c for c in configs if c.kwargs['BLOCK'] != 8]


def hook(args):
    seen.append(('hook', args['BLOCK']))


@triton.autotune(
    configs=[triton.Config({'BLOCK': 8}), triton.Config({'BLOCK': 48}),
             triton.Config({'BLOCK': 64}, num_warps=2, pre_hook=hook), triton.Config({'BLOCK': 2**21})],
    key=['n'], reset_to_zero=['total'], restore_value=['x'], prune_configs_by={'early_config_prune': prune})
@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})
@triton.jit
def drain(x, total, n, UNIT: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (i < n) | EVEN
    a = tl.load(x + i, mask=inside, other=0)
    tl.atomic_add(total, tl.sum(a, axis=0))
    tl.store(x + i, a + UNIT, mask=inside)


for n in (130, 128):
    x = torch.arange(n, dtype=torch.int32, device='cuda')
    total = torch.zeros(1, dtype=torch.int32, device='cuda')
    drain[lambda meta: (triton.cdiv(n, meta['BLOCK']), )](x, total, n, UNIT=1)
    assert total.item() == n * (n - 1) // 2, total
    assert torch.equal(x, torch.arange(1, n + 1, dtype=torch.int32, device='cuda')), x
    assert drain.best_config.kwargs == {'BLOCK': 64} and drain.best_config.num_warps == 2
assert ('hook', 64) in seen and ('hook', 48) not in seen
assert [s for s in seen if s[0] == 'pruned'] == [('pruned', ['n'], 1)] * 2
assert len(drain.cache) == 2

# A kernel that needs too much shared memory: a direct launch reports the kernel's line, and tuning skips the configuration.


@triton.jit
def large(x, y, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    a = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(y + j[:, None] * M + i[None, :], tl.trans(a))


x = torch.randn(32, 32, device='cuda')
y = torch.empty_like(x)
tuned = triton.autotune(configs=[triton.Config({'M': m, 'N': m}) for m in (1024, 32)], key=[])(large)
try:
    tuned[(1, )](x, y)
    assert torch.equal(y, x.T) and tuned.best_config.kwargs['M'] == 32
except RuntimeError as e:
    assert 'out of bounds' in str(e), e  # the interpreter reports a read beyond the tensor
