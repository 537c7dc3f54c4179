/* SPDX-License-Identifier: MIT */
/* explain_schedule.c: prints the schedules of loops (loop_schedule.h) for --explain=schedule. If the caller has set
 * the callback opt_options.note, the callback receives the schedules as records (struct explanation) instead,
 * and no picture is printed.
 *
 *     schedule: 25:5: an iteration takes 1024 cycles; busy: global memory 512, tensor cores 1024, issue slots 40
 *       2 groups of 4 warps; a producer warp
 *       %a: 4 stages of 16384 bytes, filled by tensor_copy, ..., 3.1 iterations ahead of mma_start
 *                                0         256       512       768       1024
 *       global memory  producer  |aaaaaaaaaabbbbbbbbbb....................|
 *       tensor cores   group 1   |cccccccccccccccccccc....................|
 *       tensor cores   group 2   |....................cccccccccccccccccccc|
 *       a  tensor_copy %a, 26:13, 256 cycles */
#include "opt/pipeline/loop_schedule.h"

#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"

#include <string.h>

static const char *const unit_names[UNIT_count + 1] = {
#define X(word, name, meaning) name,
    UNITS(X)
#undef X
        "waiting"};

enum { COLUMNS = 64, LETTERS = 52 };

/* A picture under construction. */
struct picture {
    const struct loop_schedule *s;
    struct text text;
    struct schedule_span keys[LETTERS]; /* the span that each letter draws */
    int nkeys;
};

/* -- names -- */

static const struct scheduled_op *op_of(const struct loop_schedule *s, const struct op *o)
{
    for (int i = 0; i < s->ops.n; i++)
        if (s->ops.at[i].op == o)
            return &s->ops.at[i];
    return NULL;
}

/* Returns the buffer that o accesses. If o waits at an mbarrier until a stage is full, returns the buffer of
 * this stage. If o waits at an mbarrier until a stage is empty, returns the buffer that the next tensor_copy
 * fills. Returns NULL if there is no such buffer. */
static const struct value *buffer_of(const struct loop_schedule *s, const struct op *o)
{
    const struct scheduled_op *x = op_of(s, o), *end = s->ops.at + s->ops.n;
    const int barrier = x ? x->barrier : -1;
    if (o->code == OP_mbar_wait && barrier >= 0) {
        const bool is_full = !s->buffers.at[barrier].frees;
        for (x = is_full ? s->ops.at : x; x < end; x++)
            if (x->op->code == OP_tensor_copy && (!is_full || x->barrier == barrier))
                return buffer_of(s, x->op);
    }
    const struct value *v = o->nopnds ? op_opnd(o, 0) : NULL;
    const struct op *alloc = v && v->type->kind == TY_shared ? buffer_alloc(v, NULL) : NULL;
    return alloc && alloc->nresults ? op_result(alloc) : NULL;
}

static void put_op(struct text *t, const struct loop_schedule *s, const struct schedule_span *x)
{
    const struct op *o = x->op;
    const struct value *buffer = buffer_of(s, o);
    const bool waits = x->unit == UNIT_count;
    if (waits && o->code == OP_mbar_wait && buffer) {
        const bool frees = s->buffers.at[op_of(s, o)->barrier].frees;
        text_printf(t, frees ? "for an empty stage of %%%s" : "for the copy of %%%s", buffer->name);
        return;
    }
    text_str(t, waits ? "for " : "");
    text_str(t, op_info[o->code].name);
    if (o->nresults)
        text_printf(t, " %%%s", op_result(o)->name);
    else if (buffer)
        text_printf(t, " %%%s", buffer->name);
    else if (o->code == OP_store)
        text_printf(t, " %%%s", op_opnd(o, 1)->name);
    if (x->nops > 1)
        text_printf(t, " and %d more", x->nops - 1);
}

static const char *actor_name(const struct loop_schedule *s, int actor)
{
    static const char *const names[] = {"group 1", "group 2", "group 3", "group 4",
                                        "group 5", "group 6", "group 7", "group 8"};
    return actor == s->groups ? "producer" : s->groups == 1 ? "warps" : names[actor & 7];
}

/* -- the text above the picture -- */

static void put_busy(struct text *t, const struct loop_schedule *s)
{
    const char *comma = "";
    for (enum unit u = 0; u < UNIT_count; u++)
        if (schedule_busy(s, u)) {
            text_printf(t, "%s%s %d", comma, unit_names[u], schedule_busy(s, u));
            comma = ", ";
        }
}

static bool is_mbarrier(const struct scheduled_buffer *b)
{
    return b->arrivals || b->fill < 0;
}

static void put_buffer(struct text *t, const struct loop_schedule *s, const struct scheduled_buffer *b)
{
    const struct scheduled_op *fill = &s->ops.at[b->fill];
    const char *reader = b->reads >= 0 ? op_info[s->ops.at[b->reads].op->code].name : "nothing";
    static const char *const ends[] = {
#define X(word, meaning) meaning,
        COMPLETIONS(X)
#undef X
    };
    text_printf(t, "%d stage%s of %lld bytes, filled by %s, complete %s", b->stages,
                b->stages == 1 ? "" : "s", (long long)b->stage_bytes, op_info[fill->op->code].name,
                ends[fill->completion]);
    if (b->ahead_cycles > 0 && s->cycles)
        text_printf(t, ", %lld.%lld iterations ahead of %s", (long long)(b->ahead_cycles / s->cycles),
                    (long long)(b->ahead_cycles * 10 / s->cycles % 10), reader);
    else
        text_printf(t, ", read by %s", reader);
}

/* -- the picture -- */

/* Returns the letter that draws a span. All spans of an op have the same letter, and all waits for the op have another
 * letter. Returns '#' if no letters are left. */
static char letter(struct picture *p, const struct schedule_span *x)
{
    int i = 0;
    while (i < p->nkeys &&
           (p->keys[i].op != x->op || (p->keys[i].unit == UNIT_count) != (x->unit == UNIT_count)))
        i++;
    if (i == LETTERS)
        return '#';
    if (i == p->nkeys)
        p->keys[p->nkeys++] = *x;
    return (char)(i < LETTERS / 2 ? 'a' + i : 'A' + i - LETTERS / 2);
}

/* Draws into `row` the spans of one unit and one actor. Returns false if the iteration has no such span. */
static bool draw_row(struct picture *p, enum unit unit, int actor, char *row)
{
    const struct loop_schedule *s = p->s;
    bool any = false;
    memset(row, '.', COLUMNS);
    for (const struct schedule_span *x = s->spans.at; x < s->spans.at + s->spans.n; x++) {
        const int64_t from = x->from - s->begin, to = x->to - s->begin;
        if (x->unit != unit || x->actor != actor || to <= 0 || from >= s->cycles)
            continue;
        int64_t first = from <= 0 ? 0 : from * COLUMNS / s->cycles,
                end = (to * COLUMNS + s->cycles - 1) / s->cycles;
        end = end < COLUMNS ? end : COLUMNS;
        const bool is_short = unit >= UNIT_issue && (x->to - x->from) * COLUMNS < s->cycles;
        memset(row + first, is_short ? ':' : letter(p, x), (size_t)(end - first));
        any = true;
    }
    return any;
}

static void draw(struct picture *p)
{
    const struct loop_schedule *s = p->s;
    char row[COLUMNS];
    text_printf(&p->text, "  %-27s", "cycles");
    for (int i = 0; i <= 4; i++)
        text_printf(&p->text, i < 4 ? "%-16lld" : "%lld\n", (long long)(s->cycles * i / 4));
    for (enum unit u = 0; u <= UNIT_count; u++)
        for (int i = 0; i <= s->groups; i++) {
            if ((u == UNIT_issue && i == s->groups) || !draw_row(p, u, i, row))
                continue;
            text_printf(&p->text, "  %-17s %-8s |%.*s|\n", unit_names[u], actor_name(s, i), COLUMNS, row);
        }
    text_str(&p->text, "  .  idle   :  shorter than a column\n");
    for (int i = 0; i < p->nkeys; i++) {
        const struct schedule_span *x = &p->keys[i];
        text_printf(&p->text, "  %c  ", letter(p, x));
        put_op(&p->text, s, x);
        if (x->op->loc.line && !x->op->loc.file)
            text_printf(&p->text, ", %d:%d", (int)x->op->loc.line, (int)x->op->loc.col);
        text_printf(&p->text, ", %lld cycles", (long long)(x->to - x->from));
        if (x->stage > 0 && x->unit < UNIT_count)
            text_printf(&p->text, ", %d iteration%s early", x->stage, x->stage == 1 ? "" : "s");
        text_char(&p->text, '\n');
    }
}

static void put_roles(struct text *t, const struct loop_schedule *s)
{
    const struct op *roles = func_roles(s->func);
    const struct attr *regs = roles ? op_attr(roles, ATTR_regs) : NULL;
    const int warps = s->func->num_warps;
    text_printf(t, s->groups > 1 ? "  %d groups of 4 warps" : "  %d warps",
                s->groups > 1 ? s->groups : warps);
    text_str(t, s->producer ? " and a producer warp" : "");
    if (regs)
        text_printf(t, "; registers of a thread: %d and %d", regs->list[0], regs->list[1]);
    text_char(t, '\n');
}

static void print(const struct loop_schedule *s)
{
    const struct opt_options *o = s->func->module->opt;
    struct picture p = {.s = s};
    text_init(&p.text, s->func->module->scratch);
    text_printf(&p.text, "schedule: %d:%d: an iteration takes %lld cycles; busy: ", (int)s->loop->loc.line,
                (int)s->loop->loc.col, (long long)s->cycles);
    put_busy(&p.text, s);
    text_char(&p.text, '\n');
    put_roles(&p.text, s);
    for (int i = 0; i < s->buffers.n; i++)
        if (!is_mbarrier(&s->buffers.at[i])) {
            text_printf(&p.text, "  %%%s: ", op_result(s->buffers.at[i].alloc)->name);
            put_buffer(&p.text, s, &s->buffers.at[i]);
            text_char(&p.text, '\n');
        }
    if (s->cycles)
        draw(&p);
    o->write(o->write_ctx, "schedule", p.text.s, p.text.len);
}

/* -- records -- */

static void note(const struct loop_schedule *s)
{
    struct text t;
    text_init(&t, s->func->module->scratch);
    put_busy(&t, s);
    opt_explain(s->func, &(struct explanation){DECISION_iteration, .at = s->loop, .numbers = {s->cycles},
                                               .words = {t.s}});
    for (int i = 0; i < s->buffers.n; i++) {
        const struct scheduled_buffer *b = &s->buffers.at[i];
        if (is_mbarrier(b))
            continue;
        text_init(&t, s->func->module->scratch);
        put_buffer(&t, s, b);
        opt_explain(s->func, &(struct explanation){DECISION_buffer, .at = s->loop,
                                                   .values = {op_result(b->alloc)}, .words = {t.s}});
    }
    for (const struct schedule_span *x = s->spans.at; x < s->spans.at + s->spans.n; x++) {
        const int64_t from = x->from - s->begin, to = x->to - s->begin;
        if (to <= 0 || from >= s->cycles)
            continue;
        text_init(&t, s->func->module->scratch);
        put_op(&t, s, x);
        opt_explain(s->func,
                    &(struct explanation){DECISION_span, .at = x->op,
                                          .numbers = {from < 0 ? 0 : from, to < s->cycles ? to : s->cycles},
                                          .words = {unit_names[x->unit], actor_name(s, x->actor), t.s}});
    }
}

void opt_explain_schedule(struct func *f)
{
    if (opt_explains(f) && f->target)
        loop_schedules(f, f->module->opt->note ? note : print);
}
