# runs: interpreter triton (the program has no kernel: torch itself is the oracle; not cuda: it uses no device)
# Tests indexing of tensors by tensors, and concatenation of tensors.
import torch

x = torch.arange(12).view(3, 4)
rows = torch.tensor([2, 0, -1])
print(x[rows])
print(x[:, rows])
print(x[1, rows], *(tuple(v.shape) for v in [x[..., rows], x[None, rows], x[rows[:, None]]]))
print(x[x > 6], x[torch.tensor([True, False, True])])
print(x[:, torch.tensor([True, False, False, True])])
y = x.clone()
y[y % 2 == 0] = -1
y[torch.tensor([1]), :] = torch.tensor([7, 8, 9, 10])
print(y)
y[:, rows] = 0
print(y)
print(tuple(torch.cat([x, y]).shape), torch.cat((x, y), dim=1)[0], torch.cat([x.float(), y], -1).dtype)
print(torch.stack([x[0], x[1]]), tuple(torch.stack([x[0], x[1]], dim=1).shape))
for attempt in [lambda: x[torch.tensor([3])], lambda: x[torch.tensor([True, False])]]:
    try:
        attempt()
    except IndexError:
        print("IndexError")
    except RuntimeError:
        print("RuntimeError")

# expect:
# tensor([[ 8,  9, 10, 11],
#         [ 0,  1,  2,  3],
#         [ 8,  9, 10, 11]])
# tensor([[ 2,  0,  3],
#         [ 6,  4,  7],
#         [10,  8, 11]])
# tensor([6, 4, 7]) (3, 3) (1, 3, 4) (3, 1, 4)
# tensor([ 7,  8,  9, 10, 11]) tensor([[ 0,  1,  2,  3],
#         [ 8,  9, 10, 11]])
# tensor([[ 0,  3],
#         [ 4,  7],
#         [ 8, 11]])
# tensor([[-1,  1, -1,  3],
#         [ 7,  8,  9, 10],
#         [-1,  9, -1, 11]])
# tensor([[0, 1, 0, 0],
#         [0, 8, 0, 0],
#         [0, 9, 0, 0]])
# (6, 4) tensor([0, 1, 2, 3, 0, 1, 0, 0]) torch.float32
# tensor([[0, 1, 2, 3],
#         [4, 5, 6, 7]]) (4, 2)
# IndexError
# IndexError
