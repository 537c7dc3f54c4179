#include "codegen/mir.h"
void peephole(struct mir *m)
{
    (void)m;
}
