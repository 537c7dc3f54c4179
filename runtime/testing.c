/* testing.c: triton.testing: how long a call takes (do_bench), tables and plots of such times (perf_report), assert_close.
 *
 * bench.c measures. A timed call that launches no kernel computes on the CPU, or by the device's library: the table names its
 * line so.
 *
 *     benchmark.run(print_data=True)      matmul:
 *                                                N  Triton (GB/s)  Torch (CPU oracle) (GB/s)
 *                                         0   32.0       0.093750                   0.046875
 */
#include "runtime/plot.h"
#include "runtime/torch.h"
#include "runtime/runtime.h"

#include <math.h>
#include <string.h>

static struct program *program_of(struct eval *e)
{
    return e->host->ctx;
}

/* -- what a list of times says -- */

static struct obj *float_list(struct eval *e, const double *x, int n)
{
    struct obj *list = obj_list(e, 0, NULL);
    for (int i = 0; i < n; i++)
        VEC_PUSH(e->arena, &list->seq, obj_float(e, x[i]));
    return list;
}

static double number_arg(struct eval *e, struct obj *x, const char *what, struct loc at)
{
    struct number n;
    if (!torch_number(x, &n))
        eval_raise(e, at, "TypeError", ERR_testing_argument, what, "a number", obj_type_name(x));
    return n.is_float ? n.f : (double)n.i;
}

static struct obj *quantiles_of(struct eval *e, double *times, int n, struct obj *quantiles, struct loc at)
{
    if (quantiles->kind != OBJ_list && quantiles->kind != OBJ_tuple)
        eval_raise(e, at, "TypeError", ERR_testing_argument, "quantiles", "a list of numbers",
                   obj_type_name(quantiles));
    bench_sort(times, n);
    struct obj *list = obj_list(e, 0, NULL);
    for (int i = 0; i < quantiles->seq.n; i++) {
        double q = number_arg(e, quantiles->seq.at[i], "a quantile", at);
        VEC_PUSH(e->arena, &list->seq, obj_float(e, bench_quantile(times, n, q)));
    }
    return list->seq.n == 1 ? list->seq.at[0] : list;
}

static struct obj *summary(struct eval *e, double *times, int n, struct obj *mode, struct loc at)
{
    const char *word = mode->kind == OBJ_str ? mode->str.s : "";
    double sum = 0;
    if (strcmp(word, "all") == 0)
        return float_list(e, times, n);
    for (int i = 0; i < n; i++)
        sum += times[i];
    if (strcmp(word, "mean") == 0)
        return obj_float(e, sum / n);
    bench_sort(times, n);
    if (strcmp(word, "min") == 0)
        return obj_float(e, times[0]);
    if (strcmp(word, "max") == 0)
        return obj_float(e, times[n - 1]);
    if (strcmp(word, "median") == 0)
        return obj_float(e, bench_quantile(times, n, 0.5));
    struct text found;
    text_init(&found, e->arena);
    obj_print(e, mode, &found, true);
    eval_raise(e, at, "ValueError", ERR_testing_argument, "return_mode",
               "'min', 'max', 'mean', 'median' or 'all'", found.s);
}

/* -- do_bench -- */

struct timed {
    struct obj *fn, *grad_to_none;
    struct loc at;
};

static void call_fn(struct eval *e, void *ctx)
{
    struct timed *t = ctx;
    for (int i = 0; t->grad_to_none->kind == OBJ_list && i < t->grad_to_none->seq.n; i++)
        torch_tensor_class.setattr(e, t->grad_to_none->seq.at[i], "grad", obj_none, t->at);
    eval_call(e, t->fn, &(struct args){.loc = t->at});
}

static struct obj *run_do_bench(struct eval *e, struct obj **args, const struct args *call)
{
    struct timed t = {args[0], args[3], call->loc};
    struct bench b = {.warmup_ms = number_arg(e, args[1], "warmup", call->loc),
                      .rep_ms = number_arg(e, args[2], "rep", call->loc),
                      .call = call_fn,
                      .ctx = &t};
    double *times;
    int n = bench_told(program_of(e), e, &b, call->loc, &times);
    return args[4] != obj_none ? quantiles_of(e, times, n, args[4], call->loc)
                               : summary(e, times, n, args[5], call->loc);
}

/* Without a graph to replay: the same calls, one after the other. */
static struct obj *run_do_bench_cudagraph(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *all[] = {args[0], obj_int(e, 0), args[1], args[2], args[3], args[4]};
    return run_do_bench(e, all, call);
}

/* -- Benchmark -- */

static struct obj *field(struct eval *e, const struct obj *self, const char *name)
{
    return scope_get(self->native.data, intern_str(e->strings, name));
}

static struct obj *record_get(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    (void)at;
    return field(e, self, name);
}

static bool record_set(struct eval *e, struct obj *self, const char *name, struct obj *value, struct loc at)
{
    (void)at;
    scope_set(self->native.data, intern_str(e->strings, name), value);
    return true;
}

static const struct native_class benchmark_class = {
    .name = "Benchmark", .getattr = record_get, .setattr = record_set};

static struct obj *run_benchmark(struct eval *e, struct obj **args, const struct args *call)
{
    static const char *const names[] = {"x_names",    "x_vals",    "line_arg", "line_vals",
                                        "line_names", "plot_name", "args",     "xlabel",
                                        "ylabel",     "x_log",     "y_log",    "styles"};
    struct scope *s = scope_new(e, NULL);
    for (int i = 0; i < 12; i++) {
        bool is_list = i == 0 || i == 1 || i == 3 || i == 4;
        struct obj *x = is_list && args[i]->kind == OBJ_range ? obj_list(e, 0, NULL) : args[i];
        if (x != args[i])
            for (int64_t k = args[i]->range.start;
                 args[i]->range.step > 0 ? k < args[i]->range.stop : k > args[i]->range.stop;
                 k += args[i]->range.step)
                VEC_PUSH(e->arena, &x->seq, obj_int(e, k));
        if (is_list && x->kind != OBJ_list && x->kind != OBJ_tuple)
            eval_raise(e, call->loc, "TypeError", ERR_testing_argument, names[i], "a list", obj_type_name(x));
        scope_set(s, intern_str(e->strings, names[i]), x);
    }
    return obj_native(e, &benchmark_class, s);
}

/* -- running the lines of a benchmark -- */

/* What a benchmark found: a column for each x name, then one for each line. */
struct table {
    int nx, nlines, nrows;
    const char **names;   /* of all columns */
    double *cells;        /* [row][nx + nlines]; NaN where absent */
    struct obj **labels;  /* [row][nx]: x as the program gave it */
    double *low, *high;   /* [row][nlines], NaN where the program gives one number */
    const char **oracle;  /* [nlines]: who computed the line where no kernel did, NULL: a kernel */
    bool all_ints, plain; /* every cell an int; every x a number */
};

static struct obj *merged_call(struct eval *e, struct obj *fn, struct obj *keywords, struct loc at)
{
    const struct dict *d = keywords->dict;
    struct args call = {.loc = at};
    call.kw = NEW_ARRAY(e->arena, d->nlive + 1, const char *);
    call.kw_at = NEW_ARRAY(e->arena, d->nlive + 1, struct obj *);
    struct loc *locs = NEW_ARRAY(e->arena, d->nlive + 1, struct loc);
    for (int i = 0; i < d->entries.n; i++) {
        const struct dict_entry *entry = &d->entries.at[i];
        if (!entry->key)
            continue;
        locs[call.nkw] = at;
        call.kw[call.nkw] = intern(e->strings, entry->key->str.s, entry->key->str.n);
        call.kw_at[call.nkw++] = entry->value;
    }
    call.locs = locs;
    return eval_call(e, fn, &call);
}

static void add_all(struct eval *e, struct obj *to, const struct obj *from)
{
    for (int i = 0; from->kind == OBJ_dict && i < from->dict->entries.n; i++)
        if (from->dict->entries.at[i].key)
            dict_set(e, to->dict, from->dict->entries.at[i].key, from->dict->entries.at[i].value);
}

/* y, or (y, low, high). */
static void set_cell(struct eval *e, struct table *t, int row, int line, struct obj *found, struct loc at)
{
    int i = row * t->nlines + line;
    bool is_triple = (found->kind == OBJ_tuple || found->kind == OBJ_list) && found->seq.n == 3;
    struct obj *y = is_triple ? found->seq.at[0] : found;
    t->all_ints &= y->kind == OBJ_int;
    t->cells[row * (t->nx + t->nlines) + t->nx + line] =
        y == obj_none ? NAN : number_arg(e, y, "what a benchmark returns", at);
    t->low[i] = t->high[i] = NAN;
    for (int k = 1; is_triple && k < 3; k++)
        if (found->seq.at[k] != obj_none)
            (k == 1 ? t->low : t->high)[i] = number_arg(e, found->seq.at[k], "what a benchmark returns", at);
}

static const char *as_text(struct eval *e, struct obj *x)
{
    struct text t;
    text_init(&t, e->arena);
    if (x != obj_none)
        obj_print(e, x, &t, false);
    return t.s ? t.s : "";
}

/* "matmul/M=256,N=256/Triton" */
static const char *name_line(struct eval *e, const struct table *t, const struct obj *b, int row, int line)
{
    struct text name;
    text_init(&name, e->arena);
    text_str(&name, as_text(e, field(e, b, "plot_name")));
    for (int i = 0; i < t->nx; i++)
        text_printf(&name, "%c%s=%s", i ? ',' : '/', as_text(e, field(e, b, "x_names")->seq.at[i]),
                    as_text(e, t->labels[row * t->nx + i]));
    text_printf(&name, "/%s", as_text(e, field(e, b, "line_names")->seq.at[line]));
    return name.s;
}

static void run_row(struct eval *e, struct table *t, int row, struct obj *fn, const struct obj *b,
                    struct obj *extra, struct loc at)
{
    struct obj *x = field(e, b, "x_vals")->seq.at[row], *names = field(e, b, "x_names"),
               *keywords = obj_dict(e);
    bool is_many = x->kind == OBJ_tuple || x->kind == OBJ_list;
    if (is_many && x->seq.n != t->nx) {
        struct text found;
        text_init(&found, e->arena);
        text_printf(&found, "%d", x->seq.n);
        eval_raise(e, at, "ValueError", ERR_testing_argument, "each of x_vals",
                   "one value for each of x_names", found.s);
    }
    for (int i = 0; i < t->nx; i++) {
        struct obj *value = is_many ? x->seq.at[i] : x;
        struct number n;
        dict_set(e, keywords->dict, names->seq.at[i], value);
        t->labels[row * t->nx + i] = value;
        bool is_number = torch_number(value, &n);
        t->plain &= is_number;
        t->all_ints &= value->kind == OBJ_int;
        t->cells[row * (t->nx + t->nlines) + i] = !is_number ? NAN : n.is_float ? n.f : (double)n.i;
    }
    add_all(e, keywords, field(e, b, "args"));
    add_all(e, keywords, extra);
    for (int line = 0; line < t->nlines; line++) {
        struct program *p = program_of(e);
        const struct storage *mark = host_pool(e)->storages;
        p->oracle = NULL;
        dict_set(e, keywords->dict, field(e, b, "line_arg"), field(e, b, "line_vals")->seq.at[line]);
        if (p->options.measured)
            p->line = name_line(e, t, b, row, line);
        set_cell(e, t, row, line, merged_call(e, fn, keywords, at), at);
        p->line = NULL;
        if (p->oracle &&
            (!t->oracle[line] || *p->oracle == 'C')) /* of several, the one on the CPU takes the time */
            t->oracle[line] = p->oracle;
        pool_release(host_pool(e), mark);
    }
}

/* As the program calls the line, and who computed it where that does not say so. */
static struct text line_word(struct eval *e, const struct table *t, const struct obj *b, int line)
{
    struct text name;
    const char *given = as_text(e, field(e, b, "line_names")->seq.at[line]), *oracle = t->oracle[line];
    text_init(&name, e->arena);
    text_str(&name, given);
    if (oracle && !strstr(given, oracle))
        text_printf(&name, " (%s)", oracle);
    return name;
}

static const char *line_name(struct eval *e, const struct table *t, const struct obj *b, int line)
{
    const char *ylabel = as_text(e, field(e, b, "ylabel"));
    struct text name = line_word(e, t, b, line);
    if (*ylabel)
        text_printf(&name, " (%s)", ylabel);
    return name.s;
}

static struct table run_lines(struct eval *e, struct obj *fn, const struct obj *b, struct obj *extra,
                              struct loc at)
{
    struct obj *x_names = field(e, b, "x_names");
    struct table t = {x_names->seq.n, field(e, b, "line_vals")->seq.n, field(e, b, "x_vals")->seq.n,
                      .all_ints = true, .plain = true};
    int columns = t.nx + t.nlines;
    if (field(e, b, "line_names")->seq.n != t.nlines)
        eval_raise(e, at, "ValueError", ERR_testing_argument, "line_names", "as long as line_vals",
                   "another length");
    t.names = NEW_ARRAY(e->arena, columns, const char *);
    t.cells = NEW_ARRAY(e->arena, t.nrows * columns + 1, double);
    t.labels = NEW_ARRAY(e->arena, t.nrows * t.nx + 1, struct obj *);
    t.low = NEW_ARRAY(e->arena, t.nrows * t.nlines + 1, double);
    t.high = NEW_ARRAY(e->arena, t.nrows * t.nlines + 1, double);
    t.oracle = NEW_ARRAY(e->arena, t.nlines + 1, const char *);
    for (int row = 0; row < t.nrows; row++)
        run_row(e, &t, row, fn, b, extra, at);
    for (int i = 0; i < columns; i++)
        t.names[i] = i < t.nx ? as_text(e, x_names->seq.at[i]) : line_name(e, &t, b, i - t.nx);
    return t;
}

/* -- tables as pandas prints them -- */

/* One column's format: six digits with the zeros that all cells end with cut off; with an exponent where six digits
 * would hide a number or be too many. */
struct column {
    bool with_exponent;
    int cut; /* zeros to leave out */
};

static void format_cell(const struct column *c, double x, struct text *out)
{
    if (isnan(x))
        text_str(out, "NaN");
    else if (isinf(x))
        text_str(out, x < 0 ? "-inf" : "inf");
    else if (c->with_exponent)
        text_printf(out, "%.6e", x);
    else
        text_printf(out, "%.*f", 6 - c->cut, x);
}

static struct column choose_column(struct eval *e, const struct table *t, int i)
{
    struct column c = {.cut = 5};
    bool is_small = false, is_large = false;
    size_t longest = 0;
    for (int row = 0; row < t->nrows; row++) {
        double x = t->cells[row * (t->nx + t->nlines) + i];
        struct text s;
        if (!isfinite(x))
            continue;
        text_init(&s, e->arena);
        text_printf(&s, "%.6f", x);
        int zeros = 0;
        while (zeros < 5 && s.s[s.len - 1 - (size_t)zeros] == '0')
            zeros++;
        c.cut = zeros < c.cut ? zeros : c.cut;
        is_small |= x != 0 && fabs(x) < 1e-6;
        is_large |= fabs(x) > 1e6;
        longest = s.len > longest ? s.len : longest;
    }
    bool is_too_long = longest + 1 - (size_t)c.cut > 12; /* with room for a sign */
    c.with_exponent = is_small || (is_too_long && is_large);
    return c;
}

static const char *cell_text(struct eval *e, const struct table *t, const struct column *c, int row, int i)
{
    struct text s;
    text_init(&s, e->arena);
    double x = t->cells[row * (t->nx + t->nlines) + i];
    if (t->all_ints && isfinite(x))
        text_printf(&s, "%.0f", x);
    else if (i < t->nx && !t->plain)
        obj_print(e, t->labels[row * t->nx + i], &s, false);
    else
        format_cell(c, x, &s);
    return s.s;
}

static void print_table(struct eval *e, const struct table *t, struct text *out)
{
    int columns = t->nx + t->nlines, edge = 1;
    for (int n = t->nrows - 1; n >= 10; n /= 10)
        edge++;
    struct column *format = NEW_ARRAY(e->arena, columns, struct column);
    size_t *width = NEW_ARRAY(e->arena, columns, size_t);
    for (int i = 0; i < columns; i++) {
        format[i] = choose_column(e, t, i);
        width[i] = strlen(t->names[i]);
        for (int row = 0; row < t->nrows; row++) {
            size_t n = strlen(cell_text(e, t, &format[i], row, i));
            width[i] = n > width[i] ? n : width[i];
        }
    }
    for (int row = -1; row < t->nrows; row++) {
        if (row < 0)
            text_printf(out, "%*s", edge, "");
        else
            text_printf(out, "%-*d", edge, row);
        for (int i = 0; i < columns; i++)
            text_printf(out, "  %*s", (int)width[i],
                        row < 0 ? t->names[i] : cell_text(e, t, &format[i], row, i));
        text_char(out, '\n');
    }
}

static void csv_word(struct text *out, const char *s)
{
    bool quoted = strpbrk(s, ",\"\n") != NULL;
    if (quoted)
        text_char(out, '"');
    for (; *s; s++) {
        if (*s == '"')
            text_char(out, '"');
        text_char(out, *s);
    }
    if (quoted)
        text_char(out, '"');
}

static void print_csv(struct eval *e, const struct table *t, struct text *out)
{
    int columns = t->nx + t->nlines;
    for (int i = 0; i < columns; i++) {
        text_str(out, i ? "," : "");
        csv_word(out, t->names[i]);
    }
    text_char(out, '\n');
    for (int row = 0; row < t->nrows; row++) {
        for (int i = 0; i < columns; i++) {
            double x = t->cells[row * columns + i];
            text_str(out, i ? "," : "");
            if (i < t->nx && (!t->plain || t->all_ints))
                csv_word(out, as_text(e, t->labels[row * t->nx + i]));
            else if (!isnan(x))
                text_printf(out, t->all_ints ? "%.0f" : "%.6f", x);
        }
        text_char(out, '\n');
    }
}

/* -- plots -- */

static void draw(struct eval *e, const struct table *t, const struct obj *b, struct text *out)
{
    struct obj *styles = field(e, b, "styles"), *xlabel = field(e, b, "xlabel");
    struct plot p = {.nlines = t->nlines, .npoints = t->nrows, .low = t->low, .high = t->high};
    p.x_log = field(e, b, "x_log")->kind == OBJ_bool && field(e, b, "x_log")->b;
    p.y_log = field(e, b, "y_log")->kind == OBJ_bool && field(e, b, "y_log")->b;
    p.xlabel = as_text(e, xlabel);
    if (!*p.xlabel)
        p.xlabel = t->names[0];
    p.ylabel = as_text(e, field(e, b, "ylabel"));
    p.x = NEW_ARRAY(e->arena, t->nrows + 1, double);
    p.y = NEW_ARRAY(e->arena, t->nrows * t->nlines + 1, double);
    p.lines = NEW_ARRAY(e->arena, t->nlines + 1, struct plot_line);
    for (int row = 0; row < t->nrows; row++) {
        p.x[row] = t->plain ? t->cells[row * (t->nx + t->nlines)] : row;
        for (int i = 0; i < t->nlines; i++)
            p.y[row * t->nlines + i] = t->cells[row * (t->nx + t->nlines) + t->nx + i];
    }
    for (int i = 0; i < t->nlines; i++) {
        p.lines[i].name = line_word(e, t, b, i).s;
        struct obj *style = styles->kind == OBJ_list && i < styles->seq.n ? styles->seq.at[i] : obj_none;
        if ((style->kind == OBJ_tuple || style->kind == OBJ_list) && style->seq.n > 0)
            p.lines[i].color = as_text(e, style->seq.at[0]);
        if ((style->kind == OBJ_tuple || style->kind == OBJ_list) && style->seq.n > 1)
            p.lines[i].dash = as_text(e, style->seq.at[1]);
    }
    plot_svg(&p, out);
}

/* -- reports -- */

static void save(struct eval *e, const char *folder, const char *name, const char *ending,
                 const struct text *t, struct loc at)
{
    struct program *p = program_of(e);
    struct text path;
    text_init(&path, e->arena);
    text_printf(&path, "%s%s%s%s", folder, *folder && folder[strlen(folder) - 1] != '/' ? "/" : "", name,
                ending);
    if (!p->options.save || p->options.save(p->options.user, path.s, t->s, t->len) != 0)
        eval_raise(e, at, "OSError", ERR_no_host_service, path.s, "a folder to write to");
}

struct report {
    struct obj *fn, *benchmarks; /* a list */
};

struct wanted {
    bool plots, data;
    const char *folder; /* NULL: nothing is kept */
    struct obj *extra;
};

static void report_one(struct eval *e, const struct report *r, const struct obj *b, const struct wanted *w,
                       struct text *html, struct loc at)
{
    struct table t = run_lines(e, r->fn, b, w->extra, at);
    const char *name = as_text(e, field(e, b, "plot_name"));
    struct text out, svg;
    text_init(&out, e->arena);
    text_init(&svg, e->arena);
    draw(e, &t, b, &svg);
    if (w->data) {
        text_printf(&out, "%s:\n", name);
        print_table(e, &t, &out);
        eval_write(e, out.s, out.len);
    }
    if (w->folder) {
        struct text csv;
        text_init(&csv, e->arena);
        print_csv(e, &t, &csv);
        save(e, w->folder, name, ".csv", &csv, at);
        text_printf(html, "<image src=\"%s.svg\"/>\n", name);
    }
    if (*name && (w->folder || (w->plots && program_of(e)->options.save)))
        save(e, w->folder ? w->folder : "", name, ".svg", &svg, at);
}

static struct obj *run_report(struct eval *e, struct obj **args, const struct args *call)
{
    const struct report *r = args[0]->native.data;
    struct wanted w = {obj_truth(e, args[1], call->loc), obj_truth(e, args[2], call->loc),
                       as_text(e, args[3]), args[5]};
    struct text html;
    if (obj_truth(e, args[4], call->loc))
        eval_raise(e, call->loc, "NotImplementedError", ERR_no_library, "pandas");
    if (!*w.folder)
        w.folder = NULL;
    text_init(&html, e->arena);
    text_str(&html, "<html><body>\n");
    for (int i = 0; i < r->benchmarks->seq.n; i++)
        report_one(e, r, r->benchmarks->seq.at[i], &w, &html, call->loc);
    text_str(&html, "</body></html>\n");
    if (w.folder)
        save(e, w.folder, "results", ".html", &html, call->loc);
    return obj_none;
}

static const struct builtin report_run = {
    "Mark.run", "self, show_plots=False, print_data=False, save_path='', return_df=False, **kwargs",
    run_report, NULL};

static struct obj *report_get(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    (void)at;
    const struct report *r = self->native.data;
    if (strcmp(name, "fn") == 0)
        return r->fn;
    return strcmp(name, "run") == 0 ? obj_method(e, self, obj_builtin(e, &report_run)) : NULL;
}

static struct obj *report_call(struct eval *e, struct obj *self, const struct args *args)
{
    return eval_call(e, ((const struct report *)self->native.data)->fn, args);
}

static const struct native_class report_class = {.name = "Mark", .getattr = report_get, .call = report_call};

static struct obj *run_decorate(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    struct report *r = NEW(e->arena, struct report);
    *r = (struct report){args[1], args[0]};
    return obj_native(e, &report_class, r);
}

static const struct builtin report_decorate = {"triton.testing.perf_report", "benchmarks, fn", run_decorate,
                                               NULL};

static struct obj *run_perf_report(struct eval *e, struct obj **args, const struct args *call)
{
    bool is_list = args[0]->kind == OBJ_list || args[0]->kind == OBJ_tuple;
    struct obj *list = obj_list(e, 0, NULL);
    for (int i = 0; i < (is_list ? args[0]->seq.n : 1); i++) {
        struct obj *b = is_list ? args[0]->seq.at[i] : args[0];
        if (b->kind != OBJ_native || b->native.class != &benchmark_class)
            eval_raise(e, call->loc, "TypeError", ERR_testing_argument, "the argument of perf_report",
                       "a Benchmark, or a list of them", obj_type_name(b));
        VEC_PUSH(e->arena, &list->seq, b);
    }
    return obj_method(e, list, obj_builtin(e, &report_decorate));
}

/* -- assert_close -- */

static struct obj *run_assert_close(struct eval *e, struct obj **args, const struct args *call)
{
    const struct builtin *assert_close = torch_math_functions;
    while (strcmp(assert_close->name, "torch.testing.assert_close") != 0)
        assert_close++;
    struct obj *all[] = {args[0],
                         args[1],
                         args[3] == obj_none ? obj_int(e, 0) : args[3],
                         args[2] == obj_none ? obj_float(e, 1e-2) : args[2],
                         obj_true,
                         obj_false,
                         obj_false,
                         args[4]};
    return assert_close->run(e, all, call);
}

/* clang-format off */
static const struct builtin rows[] = {
    {"triton.testing.do_bench", "fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode='mean'", run_do_bench, NULL},
    {"triton.testing.do_bench_cudagraph", "fn, rep=20, grad_to_none=None, quantiles=None, return_mode='mean'", run_do_bench_cudagraph, NULL},
    {"triton.testing.Benchmark", "x_names, x_vals, line_arg, line_vals, line_names, plot_name, args, xlabel='', ylabel='', x_log=False, y_log=False, styles=None", run_benchmark, NULL},
    {"triton.testing.perf_report", "benchmarks", run_perf_report, NULL},
    {"triton.testing.assert_close", "x, y, atol=None, rtol=None, err_msg=None", run_assert_close, NULL},
};
/* clang-format on */

struct obj *testing_module(struct eval *e, const char *dotted_name)
{
    if (strcmp(dotted_name, "triton.testing") != 0)
        return NULL;
    struct obj *m = obj_module(e, "triton.testing");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        scope_set(m->module.scope, intern_str(e->strings, strrchr(rows[i].name, '.') + 1),
                  obj_builtin(e, &rows[i]));
    return m;
}
