/* neso.h: Triton kernels to PTX, without Python or LLVM, in a C library.
 *
 *     neso_context *ctx;
 *     neso_context_create(NULL, &ctx);
 *     neso_module *mod;
 *     neso_module_from_source(ctx, "add.py", text, length, &mod);
 *     neso_kernel *k;
 *     neso_kernel_compile(mod, "add", &(neso_compile_options){.size = sizeof k_opts, .signature = "*fp32:16, ..."}, &k);
 *     puts(neso_kernel_ptx(k));
 *
 * Every function is thread-safe on different contexts; one context may be used by one thread at a time unless said
 * otherwise. Nothing here prints, exits, or has global state. Strings returned belong to the object asked and live as long as it.
 */
#ifndef NESO_H
#define NESO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NESO_API __attribute__((visibility("default")))
#else
#define NESO_API
#endif

#ifdef __cplusplus
}
#endif

#endif
