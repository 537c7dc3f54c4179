/* select_copy.c: copies from global into shared memory beside the threads (cp.async).
 */
#include "codegen/select.h"

void select_copy(struct select *s, const struct op *o)
{
    select_unsupported(s, op_info[o->code].name);
}
