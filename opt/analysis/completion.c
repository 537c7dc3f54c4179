/* SPDX-License-Identifier: MIT */
/* completion.c: tells how threads learn that an asynchronous op is complete, and for which ops a wait op
 * waits. Passes call these functions instead of comparing opcodes. */
#include "opt/analysis/analysis.h"

enum completion op_completion(const struct op *o)
{
    switch (o->code) {
    case OP_mma_start: return COMPLETION_dots;
    case OP_async_copy: return COMPLETION_copies;
    case OP_tensor_copy: return COMPLETION_phase;
    case OP_tensor_put: return COMPLETION_bulk;
    default: return COMPLETION_order;
    }
}

enum completion op_awaits(const struct op *o)
{
    switch (o->code) {
    case OP_mma_wait: return COMPLETION_dots;
    case OP_async_wait: return COMPLETION_copies;
    case OP_mbar_wait: return COMPLETION_phase;
    case OP_bulk_wait: return COMPLETION_bulk;
    default: return COMPLETION_order;
    }
}
