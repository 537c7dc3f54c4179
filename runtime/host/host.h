/* host.h: the modules (torch, triton.testing), tensors and launches that the runtime provides to host
 * programs. The files of runtime/host: program.c (runs a program), host.c (the connection), torch*.c and
 * tensor*.c (torch), testing.c and bench.c (timing), tune.c (autotuning), properties.c, modules.c with
 * modules.py. */
#ifndef NESO_RUNTIME_HOST_H
#define NESO_RUNTIME_HOST_H

#include "frontend/frontend.h"
#include "runtime/host/tensor.h"

/* The tensors of the running program. */
struct tensor_pool *host_pool(struct eval *e);
/* Waits for the kernels launched so far, and raises their errors. */
void host_synchronize(struct eval *e, struct loc at);

/* -- torch.c -- */
/* "torch", "torch.cuda", ...; NULL: another module */
struct obj *torch_module(struct eval *e, const char *dotted_name, struct loc at);
extern const struct native_class torch_tensor_class, torch_dtype_class;
/* -- testing.c -- */
/* "triton.testing"; NULL: another module */
struct obj *testing_module(struct eval *e, const char *dotted_name);

/* Raises the reason why an allocation or a copy of device memory failed. */
_Noreturn void host_raise_fault(struct eval *e, struct loc at);

/* The tensor of an object; NULL if it is none. */
struct tensor *torch_tensor(const struct obj *x);

#endif
