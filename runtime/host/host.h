/* host.h: what host programs are lent: modules (torch, triton.testing), tensors, launches.
 * Between host.c and torch.c. */
#ifndef NESO_RUNTIME_HOST_H
#define NESO_RUNTIME_HOST_H

#include "frontend/frontend.h"
#include "runtime/host/tensor.h"

/* The tensors of the running program. */
struct tensor_pool *host_pool(struct eval *e);
/* Waits for the kernels launched so far; raises what went wrong in them. */
void host_synchronize(struct eval *e, struct loc at);

/* -- torch.c -- */
struct obj *torch_module(struct eval *e, const char *dotted_name, struct loc at); /* "torch", "torch.cuda", ...; NULL: not ours */
extern const struct native_class torch_tensor_class, torch_dtype_class;
/* -- testing.c -- */
struct obj *testing_module(struct eval *e, const char *dotted_name); /* "triton.testing"; NULL: not ours */

/* Raises why the device's memory could not be had, or copied. */
_Noreturn void host_raise_fault(struct eval *e, struct loc at);

/* The tensor of an object, NULL if it is none. */
struct tensor *torch_tensor(const struct obj *x);

#endif
