# SPDX-License-Identifier: MIT
"""cuda_is_cpu.py PROGRAM ARGS: runs a torch program that was written for a GPU on a machine without one. The program's cuda tensors are
on the CPU, and neso's triton runs its kernels on the CPU (NESO_DEVICE)."""
import os
import runpy
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "replay"), os.path.join(here, "..", "..", "runtime", "python")]
import neso

neso.install()
import standin

standin.no_cuda_queries()
standin.Cuda().__enter__()
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
