/* peephole.c: fewer instructions. */
#include "codegen/mir.h"

void peephole(struct mir *m)
{
    (void)m;
}
