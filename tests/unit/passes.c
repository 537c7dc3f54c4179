/* SPDX-License-Identifier: MIT */
/* passes.c: tests the pass driver: order, degrees, names, dumps, explanations. */
#include "tests/unit/test.h"

#include "opt/passes.h"
#include "opt/variants.h"
#include "tests/unit/world.h"

static const char source[] =
    "kernel @double(%x: ptr<f32> {divisible=16}, %n: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
    "  %r = range start=0 end=512 : tile<512xi32>\n"
    "  %again = range start=0 end=512 : tile<512xi32>\n"
    "  %ns = splat %n : tile<512xi32>\n"
    "  %m = cmp %again, %ns pred=slt : tile<512xi1>\n"
    "  %xs = splat %x : tile<512xptr<f32>>\n"
    "  %p = addptr %xs, %r : tile<512xptr<f32>>\n"
    "  %v = load %p, %m : tile<512xf32>\n"
    "  %w = add %v, %v : tile<512xf32>\n"
    "  store %p, %w, %m\n"
    "  return\n"
    "}\n";

static void collect(void *ctx, const char *pass, const char *s, size_t n)
{
    struct text *t = ctx;
    text_printf(t, "[%s] ", pass);
    text_bytes(t, s, n);
}

/* Runs the passes on the source, and returns their dumps and explanations. The text of each pass begins with
 * [PASS]. */
static struct text run(struct world *w, struct opt_options o)
{
    struct text written;
    world_init(w);
    text_init(&written, &w->arena);
    o.write = collect;
    o.write_ctx = &written;
    if (!world_parse(w, source))
        test_fail(__FILE__, __LINE__, "the source does not parse");
    WORLD_CATCH(w, { opt_run(w->m.funcs.at[0], &o); });
    return written;
}

static int count(const struct text *t, const char *what)
{
    int n = 0;
    for (const char *s = t->s; s && (s = strstr(s, what)); s++)
        n++;
    return n;
}

static bool reports(const struct world *w, enum error e)
{
    return w->diag.nerrors == 1 && w->diag.list.at[0].error == e;
}

TEST(the_list_leaves_a_scheduled_function)
{
    struct world w;
    struct text t = run(&w, (struct opt_options){.verify_each = true});
    CHECK_INT(w.diag.nerrors, 0);
    CHECK_INT(w.m.funcs.at[0]->degree, DEGREE_scheduled);
    CHECK_INT(t.len, 0);
    world_free(&w);
}

TEST(dumps_follow_the_names)
{
    struct world w;
    struct text t = run(&w, (struct opt_options){.print_after = "cse,vectorize"});
    int runs = count(&t, "[cse] kernel"); /* how often the default list contains cse */
    CHECK(runs > 1);
    CHECK_INT(count(&t, "[vectorize] kernel"), 1);
    CHECK_INT(count(&t, "kernel"), runs + 1);
    world_free(&w);
    t = run(&w, (struct opt_options){.print_after = "cse", .print_changed = true});
    CHECK_INT(count(&t, "[cse] kernel"), 1);
    world_free(&w);
    t = run(&w, (struct opt_options){.stop_after = "dce", .print_after = "all"});
    CHECK_INT(count(&t, "kernel"), 5);
    CHECK_INT(w.m.funcs.at[0]->degree, DEGREE_traced);
    world_free(&w);
    t = run(&w, (struct opt_options){.skip = "cse", .print_after = "all", .time = true});
    CHECK_INT(count(&t, "[cse]"), 0);
    CHECK(count(&t, " us\n") >= npasses - 1);
    CHECK_INT(count(&t, " us\n"), count(&t, "kernel"));
    world_free(&w);
}

TEST(explanations_name_pass_and_reason)
{
    struct world w;
    struct text t = run(&w, (struct opt_options){.explain = "cse,vectorize"});
    CHECK_INT(count(&t, "[cse] cse: %again is %r\n"), 1);
    CHECK_INT(count(&t, "[vectorize] vectorize: 4 elements at once, one by one at the edge of the mask\n"),
              2);
    world_free(&w);
}

static void count_notes(void *ctx, const struct explanation *x)
{
    int *n = ctx;
    n[x->what]++;
    CHECK(x->what != DECISION_vectors_with_tail || (x->numbers[0] == 4 && x->at));
}

TEST(explanations_are_records)
{
    struct world w;
    int n[DECISION_count] = {0};
    struct opt_options o = {.explain = "cse,vectorize", .note = count_notes, .write_ctx = n};
    world_init(&w);
    CHECK(world_parse(&w, source));
    WORLD_CATCH(&w, { opt_run(w.m.funcs.at[0], &o); });
    CHECK(n[DECISION_replaced] > 0);
    CHECK_INT(n[DECISION_vectors_with_tail], 2);
    CHECK_INT(n[DECISION_placed], 0);
    world_free(&w);
}

static int verbs(const char *text, char verb)
{
    int n = 0;
    for (const char *s = text; (s = strchr(s, '%')) != NULL; s += 2)
        n += s[1] == verb;
    return n;
}

/* Each row of the table of decisions must name a pass, or "stepdown" or "schedule". The row's text must not have more
 * conversion specifiers than a record of a decision has operands. */
TEST(decisions_fit_their_records)
{
    const struct explanation *x = NULL;
    for (int i = 0; i < DECISION_count; i++) {
        const struct decision_info *d = &decision_info[i];
        bool is_known = strcmp(d->pass, "stepdown") == 0 || strcmp(d->pass, "schedule") == 0;
        for (int k = 0; k < npasses; k++)
            is_known |= strcmp(d->pass, pass_info[k].name) == 0;
        CHECK(is_known);
        CHECK(verbs(d->text, 'v') <= (int)(sizeof x->values / sizeof x->values[0]));
        CHECK(verbs(d->text, 'd') <= (int)(sizeof x->numbers / sizeof x->numbers[0]));
        CHECK(verbs(d->text, 's') <= (int)(sizeof x->words / sizeof x->words[0]));
    }
}

/* Accesses by wider vectors must have a higher grade. Among vectors of equal width, vectors that need no separate
 * access for the remaining elements must have the higher grade. */
TEST(grades_rank_decisions)
{
    struct explanation one = {.what = DECISION_scalars, .numbers = {1}},
                       tail = {.what = DECISION_vectors_with_tail, .numbers = {4}},
                       four = {.what = DECISION_vectors, .numbers = {4}}, tidy = {.what = DECISION_replaced},
                       map = {.what = DECISION_load_by_map}, load = {.what = DECISION_stays_a_load};
    CHECK(explanation_grade(&one) < explanation_grade(&tail));
    CHECK(explanation_grade(&tail) < explanation_grade(&four));
    CHECK(explanation_grade(&load) < explanation_grade(&map));
    CHECK_INT(explanation_grade(&tidy), TIDIES);
}

TEST(wrong_names_and_degrees_are_errors)
{
    struct world w;
    run(&w, (struct opt_options){.passes = "cse,asign"});
    CHECK(reports(&w, ERR_pass_unknown));
    world_free(&w);
    run(&w, (struct opt_options){.stop_after = "nothing"});
    CHECK(reports(&w, ERR_pass_unknown));
    CHECK_INT(w.m.funcs.at[0]->degree, DEGREE_traced);
    world_free(&w);
    run(&w, (struct opt_options){.passes = "vectorize"});
    CHECK(reports(&w, ERR_pass_left_out));
    world_free(&w);
    run(&w, (struct opt_options){.passes = "assign_layouts,assign_layouts"});
    CHECK(reports(&w, ERR_pass_before));
    world_free(&w);
    run(&w, (struct opt_options){.passes = "vectorize,lower_layout_conversion"});
    CHECK(reports(&w, ERR_pass_behind));
    world_free(&w);
    run(&w, (struct opt_options){.passes = "fold,dedup_loads,cse"});
    CHECK(reports(&w, ERR_pass_between));
    CHECK_INT(w.m.funcs.at[0]->degree, DEGREE_traced);
    world_free(&w);
    run(&w, (struct opt_options){/* cse may run without fold, but then finds fewer equal ops */
                                 .passes = "dedup_loads,cse"});
    CHECK_INT(w.diag.nerrors, 0);
    world_free(&w);
}

/* Each pass in the table must need, provide and break only valid properties, and may need and provide at most one
 * degree of lowering. */
TEST(contracts_are_consistent)
{
    const uint32_t degrees = P(traced) | P(laid_out) | P(scheduled);
    for (int i = 0; i < npasses; i++) {
        const struct pass_info *p = &pass_info[i];
        CHECK(!(p->provides & p->breaks));
        CHECK(!(p->provides & degrees) == !(p->breaks & degrees));
        CHECK(!(p->breaks & degrees & ~p->needs));
        CHECK(((p->needs & degrees) & ((p->needs & degrees) - 1)) == 0);
    }
}

TEST(claims_are_looked_for_in_the_ops)
{
    struct world w;
    world_init(&w);
    CHECK(world_parse(&w, source));
    struct func *f = w.m.funcs.at[0];
    uint32_t claims = contract_claims(f);
    CHECK(claims & P(traced) && claims & P(scans_lowered) && claims & P(offsets) && claims & P(one_program));
    CHECK(!(claims & (P(laid_out) | P(canonical) | P(vectorized))));
    contract_verify(f, claims);
    f->persistent = true;
    CHECK(!(contract_claims(f) & P(one_program)));
    WORLD_CATCH(&w, { contract_verify(f, P(one_program)); });
    CHECK(reports(&w, ERR_internal));
    world_free(&w);
}

/* For each variant, the compiler must work without the passes that the variant skips. */
TEST(variants_compile)
{
    struct world w;
    for (int i = 0; i < VARIANT_count; i++) {
        run(&w, (struct opt_options){.skip = variant_info[i].without, .makes_code = true});
        CHECK_INT(w.diag.nerrors, 0);
        CHECK_INT(w.m.funcs.at[0]->degree, DEGREE_scheduled);
        world_free(&w);
    }
    const struct launch_traits none = {0}, loops = {.has_guards = true},
                               maps = {.has_maps = true, .has_guards = true, .stores_by_maps = true};
    for (int i = 0; i < VARIANT_count; i++)
        CHECK(!variant_info[i].exists(&none));
    CHECK_INT(variant_fallback(&loops), VARIANT_fallback_of_loops);
    CHECK_INT(variant_fallback(&maps), VARIANT_fallback);
    CHECK(variant_info[VARIANT_loads_by_maps_only].exists(&maps));
    CHECK(variant_info[VARIANT_no_producer].exists(
        &(struct launch_traits){.has_maps = true, .adds_warp = true}));
    CHECK(!variant_info[VARIANT_no_producer].exists(
        &(struct launch_traits){.is_persistent = true, .adds_warp = true}));
}

TEST(scratch_is_given_back)
{
    struct world w;
    world_init(&w);
    CHECK(world_parse(&w, source));
    struct arena_mark before = arena_mark(&w.scratch);
    opt_run(w.m.funcs.at[0], &(struct opt_options){.verify_each = true});
    struct arena_mark after = arena_mark(&w.scratch);
    CHECK(before.chunk == after.chunk && before.fill == after.fill);
    world_free(&w);
}
