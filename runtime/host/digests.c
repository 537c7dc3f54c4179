/* SPDX-License-Identifier: MIT */
/* digests.c: after each launch of a program, passes digests of its tensors to the caller (neso_run_options.launched).
 *
 *     softmax[(16,)](x, y, 64)     =>     softmax 16,1,1 x=5feceb66ffc86f38 y=6b86b273ff34fce1
 *
 * If two runs of a program, on two devices or with two compilers, print equal lines, they computed the same bits.
 * Otherwise, the first line that differs shows the launched kernel, and the digests in this line show which tensor
 * differs. */
#include "runtime/cache.h"
#include "runtime/runtime.h"

enum { DIGITS = 16 };

size_t tensor_span(const struct launch_tensor *t)
{
    int64_t last = 0;
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] == 0)
            return 0;
        last += (t->shape[i] - 1) * (t->stride[i] > 0 ? t->stride[i] : 0);
    }
    return (size_t)(last + 1) * t->elem_bytes;
}

/* Appends " NAME=DIGEST" for argument i. Returns false if the tensor's memory cannot be read. */
static bool put_tensor(struct program *p, const struct launch *l, int i, const char *name, struct text *out)
{
    char digits[DIGITS + 1];
    size_t bytes = tensor_span(&l->tensors[i]);
    struct arena_mark mark = arena_mark(&p->scratch);
    char *copy = NEW_ARRAY(&p->scratch, bytes, char);
    bool good = p->device->class->read(p->device, copy, l->args[i], bytes, l->stream, &p->fault);
    if (good) {
        digest_text(copy, bytes, DIGITS, digits);
        text_printf(out, " %s=%s", name, digits);
    }
    arena_reset(&p->scratch, mark);
    return good;
}

bool digests_tell(struct program *p, struct eval *e, const struct neso_kernel *k, const struct launch *l)
{
    struct text line;
    text_init(&line, e->arena);
    text_printf(&line, "%s %u,%u,%u", k->name, l->grid[0], l->grid[1], l->grid[2]);
    for (int i = 0, arg = 0; i < k->nparams; i++) {
        if (k->params[i].equals_one) /* this parameter is a constant, which launches do not pass */
            continue;
        if (l->tensors[arg].dtype && l->args[arg] && !put_tensor(p, l, arg, k->params[i].name, &line))
            return false;
        arg++;
    }
    p->options.launched(p->options.user, line.s);
    return true;
}
