/* select_atomic.c: atomic operations in global memory, one element at a time, by the elements' owners. */
#include "codegen/select.h"

void select_atomic(struct select *s, const struct op *o)
{
    select_unsupported(s, op_info[o->code].name);
}
