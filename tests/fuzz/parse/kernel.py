@triton.jit
def add(X, Y, Z, N, BLOCK: tl.constexpr = 512, *a, k=1, **META) -> None:
    pid = tl.program_id(0)
    idx = pid * BLOCK + tl.arange(0, BLOCK)
    mask = idx < N
    tl.store(Z + idx[:, None], tl.load(X + idx, mask=mask, other=-float('inf')), mask=mask)
