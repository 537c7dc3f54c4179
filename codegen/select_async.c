/* select_async.c: units that work beside the threads: which instructions start them, and who waits how.
 *
 *     mbar_wait %bar, %parity      =>      L: mbarrier.try_wait.parity... %p1, [%r1], %r2;  @!%p1 bra L;
 */
#include "codegen/select.h"

void select_async(struct select *s, const struct op *o)
{
    switch (o->code) {
    case OP_async_copy:
    case OP_async_commit:
    case OP_async_wait: select_copy(s, o); break;
    case OP_wgmma:
    case OP_dot_wait:
    case OP_fence_async: select_wgmma(s, o); break;
    default: select_unsupported(s, op_info[o->code].name);
    }
}
