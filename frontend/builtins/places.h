/* SPDX-License-Identifier: MIT */
/* places.h: defines the prefix of a builtin's full name for each value of the column `where` of builtins.h. */
#ifndef NESO_FRONTEND_BUILTINS_PLACES_H
#define NESO_FRONTEND_BUILTINS_PLACES_H

#define PREFIX_tl "tl."
#define PREFIX_method "tl."
#define PREFIX_math "tl."
#define PREFIX_only_math "tl."
#define PREFIX_only_method "tensor."
#define PREFIX_descriptor "tensor_descriptor."
#define PREFIX_constant "tl."
#define PREFIX_core "tl.core."
#define PREFIX_type "dtype."
#define PREFIX_libdevice "libdevice."
#define PREFIX_cuda "tl.extra.cuda."
#define PREFIX_triton "triton."
#define PREFIX_bare ""
#define PREFIX_hidden "triton."

#endif
