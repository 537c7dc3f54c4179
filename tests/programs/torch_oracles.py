# runs: interpreter emulator cuda triton triton-interpret
# Tests the functions of torch that tests of published kernels use: oracles, selections, limits, events.
import pytest
import torch
import torch.nn.functional as F
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


def say(name, good):
    assert good, name


x = torch.tensor([[1.0, 5.0, 2.0, 5.5], [4.0, -1.0, 3.0, 0.0]], device=DEVICE)
best = x.max(dim=1)
say('named', torch.equal(best.values, best[0]) and best.indices.tolist() == [3, 0])
values, at = torch.topk(x, 2, dim=-1)
say('topk', values.tolist() == [[5.5, 5.0], [4.0, 3.0]] and at.tolist() == [[3, 1], [0, 2]])
say('sort', x.sort(dim=1).values[1].tolist() == [-1.0, 0.0, 3.0, 4.0])
say('argsort', torch.argsort(x, dim=-1, descending=True)[0].tolist() == [3, 1, 2, 0])
say('gather', torch.gather(x, 1, torch.tensor([[2], [0]], device=DEVICE)).tolist() == [[2.0], [4.0]])
say('along several', x.sum(dim=(0, 1)).item() == 19.5 and x.amax(dim=[0, 1], keepdim=True).tolist() == [[5.5]])
say('a list of indices', x[[1, 0], :2].tolist() == [[4.0, -1.0], [1.0, 5.0]])
say('filled', x.masked_fill(x > 4, 0.0)[0].tolist() == [1.0, 0.0, 2.0, 0.0])
say('repeated', x[:, :2].repeat_interleave(2, dim=1)[0].tolist() == [1.0, 1.0, 5.0, 5.0])
say('repeat', list(x.repeat(2, 1, 3).shape) == [2, 2, 12])
say('squeezed', list(x[None, :, None].squeeze().shape) == [2, 4])
say('flattened', list(x[None].flatten(0, 1).shape) == [2, 4] and x.flatten(1).shape == x.shape)
say('the same bytes', torch.ones(2, device=DEVICE).view(torch.int32).tolist() == [0x3F800000] * 2)
say('bytes', torch.ones(1, device=DEVICE).view(torch.uint8).tolist() == [0, 0, 128, 63])
say('axis', list(torch.cat((x, x), axis=1).shape) == [2, 8])
say('norm', abs(torch.norm(x[1]).item() - 26.0 ** 0.5) < 1e-6)
say('counted', torch.bincount(torch.tensor([0, 2, 2], device=DEVICE), minlength=4).tolist() == [1, 0, 2, 0])
say('new', x.new_zeros(3, dtype=torch.int32).tolist() == [0, 0, 0] and x.new_empty(2, 3).dtype == x.dtype)
say('like', x[:1].expand_as(x).shape == x.shape and len(x.unbind(1)) == 4)
say('limits', torch.finfo(torch.float8_e4m3fn).max == 448.0 and torch.finfo(torch.float16).min == -65504.0)
say('float32', torch.finfo(torch.float32).max == 3.4028234663852886e38 and torch.finfo(torch.float32).eps == 2.0 ** -23)
say('whole limits', torch.iinfo(torch.int8).min == -128 and torch.iinfo(torch.uint8).max == 255)
say('all of them', sorted(torch.randperm(9, device=DEVICE).tolist()) == list(range(9)))
say('made', torch.randn(size=(2, 3), device=DEVICE).shape == (2, 3) and torch.is_tensor(torch.as_tensor([1, 2])))
print(f'{x.max()} {x.max():.2f}')

labels = torch.tensor([3, -100], device=DEVICE)
logsumexp = torch.logsumexp(x, dim=-1)
torch.testing.assert_close(logsumexp, x.exp().sum(1).log())
torch.testing.assert_close(F.cross_entropy(x, labels), logsumexp[0] - 5.5)
torch.testing.assert_close(F.cross_entropy(x, labels.clamp(min=0), reduction='none'), logsumexp - x.max(1).values)
smooth = 0.9 * (logsumexp[0] - 5.5) + 0.1 * (logsumexp[0] - 13.5 / 4)
torch.testing.assert_close(F.cross_entropy(x, labels, reduction='sum', label_smoothing=0.1), smooth)
torch.testing.assert_close(F.gelu(x, approximate='tanh'), F.gelu(x), atol=1e-3, rtol=1e-3)
weight = torch.nn.Parameter(x.clone())
say('embedding', weight.requires_grad and torch.equal(F.embedding(torch.tensor([1, 1], device=DEVICE), x), x[[1, 1]]))
q = torch.empty(1, 2, 8, 16, device=DEVICE).normal_(mean=0.0, std=0.5)
scores = (q @ q.transpose(-1, -2) / 4).masked_fill(torch.ones(8, 8, device=DEVICE).triu(1).bool(), float('-inf'))
torch.testing.assert_close(F.scaled_dot_product_attention(q, q, q, is_causal=True), scores.softmax(-1) @ q, atol=1e-2, rtol=1e-2)
say('uniform', 2.0 <= torch.empty(50, device=DEVICE).uniform_(2.0, 3.0).min().item() < 2.5)


@triton.jit
def halve(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) / 2, mask=i < n)


@pytest.mark.parametrize('n', [4, 8])
def test_halve(n):
    y = torch.ones(8, device=DEVICE)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.device(y.device):
        start.record()
        halve[(1,)](y, n, BLOCK=8)
        end.record()
    torch.cuda.synchronize()
    say('elapsed', start.elapsed_time(end) >= 0)
    say('halved', y.sum().item() == 8 - n / 2)


for n in (4, 8):
    test_halve(n)

# expect:
# 5.5 5.50
