# runs: interpreter (not triton: PyTorch's arithmetic overflows here; not cuda: the program uses no device)
# A slice whose step is nearly 2^63 has one element or none.
import torch

four = torch.arange(4)
assert four[:: 2**63 - 1].tolist() == [0] and four[4 :: 2**63 - 1].numel() == 0
