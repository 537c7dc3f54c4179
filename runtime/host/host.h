/* SPDX-License-Identifier: MIT */
/* host.h: declares functions for the modules (torch, triton.testing) and tensors that the runtime provides
 * to host programs (the Python code that creates tensors and launches kernels). The files of runtime/host:
 * program.c (runs a program), host.c (provides modules and tensors), torch*.c and tensor*.c (torch),
 * testing.c and bench.c (timing), tune.c (autotuning), properties.c (properties of GPUs), modules.c with
 * modules.py and standard.py (modules written in Python). */
#ifndef NESO_RUNTIME_HOST_H
#define NESO_RUNTIME_HOST_H

#include "frontend/frontend.h"
#include "runtime/host/tensor.h"

/* Returns the pool with the tensors of the running program. */
struct tensor_pool *host_pool(struct eval *e);
/* Waits for all launched kernels, and raises their errors as exceptions. */
void host_synchronize(struct eval *e, struct loc at);

/* -- torch.c -- */
/* Returns the module "torch", "torch.cuda", ...; NULL for any other name. */
struct obj *torch_module(struct eval *e, const char *dotted_name, struct loc at);
extern const struct native_class torch_tensor_class, torch_dtype_class;
/* -- testing.c -- */
/* Returns the module "triton.testing"; NULL for any other name. */
struct obj *testing_module(struct eval *e, const char *dotted_name);

/* Raises an exception with the reason why an allocation or a copy of device memory failed. */
_Noreturn void host_raise_fault(struct eval *e, struct loc at);

/* Returns the tensor of an object; NULL if the object is not a tensor. */
struct tensor *torch_tensor(const struct obj *x);

#endif
