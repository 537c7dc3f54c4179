# runs: interpreter emulator cuda triton (not triton-interpret: a failed static_assert ends the program there)
# bits: tuning chooses the block, so the number of programs differs
# Tests @triton.autotune and @triton.heuristics: the arguments that they pass on, when they tune again, and that tuning does not change tensors.
import torch
import triton
import triton.language as tl

seen = []


def noted(nargs, **kwargs):
    seen.append((nargs['BLOCK'], nargs['n']))


@triton.autotune(
    configs=[triton.Config({'BLOCK': 16}, num_warps=1), triton.Config({'BLOCK': 64}, num_warps=2), triton.Config({'BLOCK': 256})],
    key=['n'], reset_to_zero=['count_ptr'], restore_value=['x_ptr'])
@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0, 'TWICE': lambda args: 2 if args['EVEN'] else 0})
@triton.jit
def increment(x_ptr, count_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, TWICE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x_ptr + at, tl.load(x_ptr + at) + 1)
    else:
        tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)
    tl.atomic_add(count_ptr, 1)
    if TWICE:
        tl.static_assert(EVEN)


def check(n, dtype=torch.float32):
    x = torch.arange(n, device='cuda').to(dtype)
    count = torch.zeros(1, dtype=torch.int32, device='cuda')
    grid = lambda meta: (triton.cdiv(n, meta['BLOCK']),)
    for launch in range(1, 3):
        increment[grid](x, count, n)
        block = increment.best_config.kwargs['BLOCK']
        assert torch.equal(x, torch.arange(n, device='cuda').to(dtype) + launch), f"{n} {launch}"
        assert count.item() == launch * triton.cdiv(n, block), f"{n} {launch}: {count.item()} programs of {block}"


check(512)
check(100)
check(100, torch.int32)
assert len(increment.cache) == 3  # cached by n and by the types of tensors

try:
    increment[(1,)](torch.zeros(16, device='cuda'), torch.zeros(1, dtype=torch.int32, device='cuda'), 16, BLOCK=16)
    print("no complaint")
except ValueError as e:
    print("Conflicting meta-parameters: BLOCK" in str(e))


# tuning skips a configuration without a fitting size, and one that does not compile
@triton.autotune(
    configs=[triton.Config({'BLOCK': block}, pre_hook=noted) for block in [8, 12, 32, 128]], key=['n'],
    prune_configs_by={'early_config_prune': lambda configs, named_args, **kwargs: [c for c in configs if c.kwargs['BLOCK'] <= named_args['n']]})
@triton.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK != 12)
    for start in tl.static_range(0, 64, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(x_ptr + at, at, mask=at < n)


x = torch.zeros(64, dtype=torch.int32, device='cuda')
fill[(1,)](x, 64)
assert torch.equal(x, torch.arange(64, device='cuda').to(torch.int32))
assert {block for block, n in seen} == {8, 12, 32} and {n for block, n in seen} == {64}, seen
assert fill.best_config.kwargs['BLOCK'] in (8, 32)


# a single configuration is not timed, but its hook runs
@triton.autotune(configs=[triton.Config({'BLOCK': 4}, num_warps=1, pre_hook=noted)], key=[])
@triton.jit
def one(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), n)


del seen[:]
one[(1,)](x, 5)
assert seen == [(4, 5)] and x[:5].tolist() == [5, 5, 5, 5, 4]
print(triton.Config({'BLOCK': 64}, num_warps=8))

# expect:
# True
# BLOCK: 64, num_warps: 8, num_ctas: 1, num_stages: 3, maxnreg: None
