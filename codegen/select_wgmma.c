/* select_wgmma.c: dots by a warpgroup's tensor core instructions.
 */
#include "codegen/select.h"

void select_wgmma(struct select *s, const struct op *o)
{
    select_unsupported(s, op_info[o->code].name);
}
