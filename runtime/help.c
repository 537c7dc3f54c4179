/* SPDX-License-Identifier: MIT */
/* help.c: prints the compiler's tables as help text, so that no help text is maintained by hand. */
#include "runtime/devices/emulator/machine.h"
#include "runtime/runtime.h"

#include "ir/target/engine.h"
#include "opt/passes.h"

#include <string.h>

static void help_ops(struct text *out)
{
    static const char *const families[] = {"create", "arith", "math",    "cast",  "shape",  "memory",
                                           "reduce", "dot",   "control", "debug", "layout", "async"};
    int family = -1;
    for (int i = 0; i < OP_count; i++) {
        const struct op_info *op = &op_info[i];
        if ((int)op->family != family)
            text_printf(out, "%s%s\n", family < 0 ? "" : "\n", families[op->family]);
        family = (int)op->family;
        text_printf(out, "  %-14s %s\n", op->name, op->operands);
    }
    text_str(out, "\nattributes\n");
    for (int i = 0; i < ATTR_count; i++)
        text_printf(out, "  %s\n", attr_info[i].word);
}

static void help_properties(struct text *out, const char *word, uint32_t properties)
{
    const char *comma = "";
    for (int p = 0; p < PROPERTY_count; p++)
        if (properties >> p & 1) {
            text_printf(out, "%s%s", *comma ? comma : word, property_info[p].name);
            comma = ", ";
        }
    if (properties)
        text_str(out, "\n");
}

static void help_passes(struct text *out)
{
    for (int i = 0; i < npasses; i++) {
        const struct pass_info *p = &pass_info[i];
        text_printf(out, "%s: %s\n", p->name, p->meaning);
        help_properties(out, "    needs     ", p->needs);
        help_properties(out, "    provides  ", p->provides);
        help_properties(out, "    breaks    ", p->breaks);
    }
    help_properties(out, "code generation\n    needs     ", CODEGEN_NEEDS);
    text_str(out, "\nin this order:");
    for (int i = 0; opt_order(i); i++)
        text_printf(out, "%s%s", i % 8 ? " " : "\n  ", opt_order(i));
    text_str(
        out,
        "\n\nproperties (degree: a function has one of them; must: it is wrong without; order: it is slower "
        "without)\n");
    for (int p = 0; p < PROPERTY_count; p++)
        text_printf(out, "  %-22s %-7s %s\n", property_info[p].name, property_info[p].kind,
                    property_info[p].meaning);
}

static void help_params(struct text *out)
{
    text_str(out,
             "thresholds of optimisations; --param NAME=VALUE,... changes them for one compilation or run\n");
    for (int i = 0; i < nparam_info; i++) {
        const struct param_info *p = &param_info[i];
        text_printf(out, "  %s = %d (%d to %d, %s)\n", p->name, param_value(&params_default, i), p->least,
                    p->most, p->unit);
    }
}

static void help_decisions(struct text *out)
{
    text_str(out, "what passes say under --explain: %v stands for a value, %d for a number, %s for words\n");
    for (int i = 0; i < DECISION_count; i++) {
        const struct decision_info *x = &decision_info[i];
        text_printf(out, "  %-24s %-22s %s\n", x->pass, x->name, x->text);
    }
}

static void help_errors(struct text *out)
{
    for (int i = 0; i < ERR_count; i++) {
        char tag[48];
        size_t n = 0;
        for (const char *s = error_tag((enum error)i); *s && n + 1 < sizeof tag; s++)
            tag[n++] = *s == '_' ? '-' : *s;
        tag[n] = '\0';
        text_printf(out, "%-26s %s\n", tag, error_text((enum error)i));
    }
}

static void put_places(struct text *out, const char *matrix, unsigned places)
{
    static const char *const names[] = {"registers", "shared memory", "tensor memory"};
    text_printf(out, ", %s in", matrix);
    for (int i = 0; i < 3; i++)
        if (places >> i & 1)
            text_printf(out, "%s%s", places & ((1u << i) - 1) ? " or " : " ", names[i]);
}

static void help_targets(struct text *out)
{
    static const char *const features[] = {
#define X(word, meaning) #word,
        FEATURES(X)
#undef X
    };
    for (int i = 0; i < ntargets; i++) {
        const struct target *t = &targets[i];
        text_printf(out, "%-9s %s, PTX %d.%d, %d KiB shared memory, %d registers a thread\n         ",
                    t->name, t->generation, t->ptx_version / 10, t->ptx_version % 10, t->smem_bytes / 1024,
                    t->regs_thread);
        for (int k = 0; k < HAS_count; k++)
            if (target_has(t, (enum feature)k))
                text_printf(out, " %s", features[k]);
        for (int k = 0; k < ENGINE_count; k++)
            if (t->mma_rates[k])
                text_printf(out, " %s", mma_engines[k].name);
        text_char(out, '\n');
    }
    for (const struct mma_engine *e = mma_engines; e < mma_engines + ENGINE_count; e++) {
        text_printf(out, "%-9s %s; an instruction: %d threads, %d x %d", e->name,
                    e->is_async ? "asynchronous" : "in program order", e->warps ? 32 * e->warps : 1, e->rows,
                    e->columns);
        put_places(out, "a", e->holds[DOT_a]);
        put_places(out, "b", e->holds[DOT_b]);
        put_places(out, "the sum", e->holds[DOT_acc]);
        text_char(out, '\n');
    }
}

static const struct {
    const char *topic;
    void (*write)(struct text *out);
} topics[] = {
    {"ops", help_ops},
    {"passes", help_passes},
    {"params", help_params},
    {"insns", codegen_help_insns},
    {"errors", help_errors},
    {"targets", help_targets},
    {"language", builtins_help},
    {"counts", emu_counts_help},
    {"decisions", help_decisions},
};
enum { TOPICS = sizeof topics / sizeof *topics };

const char *neso_help_topic(size_t index)
{
    return index < TOPICS ? topics[index].topic : NULL;
}

struct helping {
    struct neso_module *module;
    const char *topic;
    const char *text;
};

static void help(void *arg)
{
    struct helping *h = arg;
    struct text out;
    text_init(&out, &h->module->arena);
    for (int i = 0; i < TOPICS; i++)
        if (strcmp(topics[i].topic, h->topic) == 0) {
            topics[i].write(&out);
            h->text = out.s;
            return;
        }
    for (int i = 0; i < TOPICS; i++)
        text_printf(&out, "%s%s", i ? ", " : "", topics[i].topic);
    diag_error(&h->module->diag, (struct loc){0}, ERR_unknown_topic, h->topic, out.s);
}

/* The text is in the arena of a new module, which the context keeps until the next call. */
neso_status neso_help(neso_context *context, const char *topic, const char **text)
{
    *text = "";
    report_begin(context);
    struct neso_module *m = module_new(context);
    if (!m)
        return context->status = NESO_OUT_OF_MEMORY;
    struct helping h = {m, topic, NULL};
    report_enter(m);
    neso_status status = guard(m, help, &h);
    report_leave(m, status);
    if (h.text)
        *text = h.text;
    if (!context->reported)
        context->reported = m;
    else
        module_drop(m);
    return status;
}
