/* schedule.c: the order of instructions within a block. */
#include "codegen/mir.h"

void schedule(struct mir *m)
{
    (void)m;
}
