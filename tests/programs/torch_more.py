# runs: interpreter triton (the program has no kernel: torch itself is the oracle; not cuda: it uses no device)
# Tests functions of torch with which host programs compute reference results, on numbers that can be checked by hand.
import torch
import torch.nn.functional as F

x = torch.tensor([[1.0, 2.0, 3.0, 6.0], [-1.0, 0.0, 1.0, 4.0]])
print(x.var(1), x.var(1, unbiased=False), x.std(), torch.var(x))
print(x.clamp(0, 2), torch.clamp(x, min=3.0)[0])
print(F.leaky_relu(x, 0.5)[1], F.silu(torch.zeros(2)), F.relu(x)[1])
print(F.layer_norm(x, (4,), torch.full((4,), 2.0), torch.ones(4)))
print(torch.tril(torch.ones(3, 3)), torch.triu(torch.ones(2, 3), diagonal=1), torch.eye(2))
print(torch.cumsum(torch.tensor([1, 2, 3]), 0), x.cumsum(1), torch.linspace(0, 1, 5))
print(torch.flip(x, [1])[0], [tuple(p.shape) for p in torch.split(x, 3, dim=1)], [tuple(p.shape) for p in x.chunk(2)])
print(torch.outer(torch.arange(3), torch.arange(2)), F.log_softmax(torch.zeros(2), dim=0))
device = torch.device('cpu')
print(x.device == device, x.device.type, torch.zeros(2, device=device).device)
w = torch.tensor([[1.0, 0.0, 0.0, 1.0]])
print(F.linear(x, w))

# expect:
# tensor([4.6667, 4.6667]) tensor([3.5000, 3.5000]) tensor(2.2678) tensor(5.1429)
# tensor([[1., 2., 2., 2.],
#         [0., 0., 1., 2.]]) tensor([3., 3., 3., 6.])
# tensor([-0.5000,  0.0000,  1.0000,  4.0000]) tensor([0., 0.]) tensor([0., 0., 1., 4.])
# tensor([[-1.1381, -0.0690,  1.0000,  4.2071],
#         [-1.1381, -0.0690,  1.0000,  4.2071]])
# tensor([[1., 0., 0.],
#         [1., 1., 0.],
#         [1., 1., 1.]]) tensor([[0., 1., 1.],
#         [0., 0., 1.]]) tensor([[1., 0.],
#         [0., 1.]])
# tensor([1, 3, 6]) tensor([[ 1.,  3.,  6., 12.],
#         [-1., -1.,  0.,  4.]]) tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
# tensor([6., 3., 2., 1.]) [(2, 3), (2, 1)] [(1, 4), (1, 4)]
# tensor([[0, 0],
#         [0, 1],
#         [0, 2]]) tensor([-0.6931, -0.6931])
# True cpu cpu
# tensor([[7.],
#         [3.]])
