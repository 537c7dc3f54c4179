#include "codegen/select.h"
void select_reduce(struct select *s, const struct op *o)
{
    select_unsupported(s, op_info[o->code].name);
}
