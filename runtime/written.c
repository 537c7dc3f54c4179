/* SPDX-License-Identifier: MIT */
/* written.c: finds the pointer parameters through which a kernel may write.
 *
 *     store %p, %v      if %p is computed from parameter 1: the kernel may write through parameter 1;
 *                       if the origin of %p is unknown: through all pointer parameters
 *
 * torch.compile uses the result to find the arguments that a kernel only reads. */
#include "runtime/devices/interpreter/interpreter.h"
#include "runtime/runtime.h"

struct written {
    struct arena *arena;
    bool *by_param; /* for each parameter of the func */
    /* the kernel writes to an address of unknown origin, so it may write through every pointer parameter */
    bool all;
};

static void note(struct written *w, const struct value *pointer)
{
    if (!type_is_ptr(pointer->type))
        return;
    int i = interpreter_origin(w->arena, pointer);
    if (i < 0)
        w->all = true;
    else
        w->by_param[i] = true;
}

static void visit(struct op *o, void *ctx)
{
    if (op_has(o, WRITES))
        note(ctx, op_opnd(o, 0));
    else if (o->code == OP_asm_effect || o->code == OP_host_call)
        for (int i = 0; i < o->nopnds; i++)
            note(ctx, op_opnd(o, i));
}

void kernel_note_written(struct neso_kernel *k, const struct func *f)
{
    struct written w = {.arena = &k->scratch, .by_param = NEW_ARRAY(&k->scratch, f->params.n + 1, bool)};
    block_walk(f->body, visit, &w);
    for (int i = 0, param = 0; i < k->nparams; i++) {
        struct neso_param *p = &k->params[i];
        if (p->equals_one)
            continue; /* the parameter is a constant, so the func lacks it */
        p->written = p->type[0] == '*' && (w.all || (param < f->params.n && w.by_param[param]));
        param++;
    }
}
