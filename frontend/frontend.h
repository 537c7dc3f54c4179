/* frontend.h: from Python source to IR, and running the host part of programs.
 *
 * One evaluator executes statements in two ways: concretely (module level, host functions, constexprs), and,
 * inside a kernel, by tracing: an operator with a tensor operand emits IR. eval.c has the one switch over
 * syntax; where a tensor or a kernel's own rule is met it asks trace.c (statements, calls, names) and
 * promote.c (operators, casts).
 *
 *     tokens ─► syntax tree ─► eval.c ──concrete──► objects, host effects
 *                                 └───tensor──────► trace.c, promote.c, builtins_*.c ─► IR
 */
#ifndef NESO_FRONTEND_FRONTEND_H
#define NESO_FRONTEND_FRONTEND_H

#include "frontend/python/ast.h"
#include "frontend/python/value.h"
#include "ir/ir.h"

/* What the runtime lends to programs: modules that the frontend does not know, launches, output,
 * environment. */
struct host {
    void *ctx;
    bool definitions_only; /* execute only what kernels need, as without a host, but find the files beside the program */
    /* A module by its dotted name ("torch", "triton.testing", "os"), or NULL: unknown. Asked
     * after builtins_module for triton's own, before the modules of Python's library that the
     * frontend has (library.c). */
    struct obj *(*import)(void *ctx, struct eval *e, const char *name, struct loc at);
    /* The text of an importable user file (`import helpers` beside the program), or NULL. */
    const struct source *(*find_source)(void *ctx, struct eval *e, const char *module);
    /* kernel[grid](args): grid as given (tuple, list, int or callable). */
    struct obj *(*launch)(void *ctx, struct eval *e, struct obj *kernel, struct obj *grid, const struct args *args);
    /* Attributes of a jit function beyond the language's (`warmup`, `best_config`); NULL: no such. */
    struct obj *(*jit_attr)(void *ctx, struct eval *e, struct obj *kernel, const char *name);
    void (*write)(void *ctx, const char *s, size_t n, bool to_stderr); /* print */
    const char *(*getenv)(void *ctx, const char *name);                /* NULL: unset */
    /* The program has set a variable of its environment; NULL: nobody minds. */
    void (*setenv)(void *ctx, struct eval *e, const char *name, const char *value, struct loc at);
    double (*seconds)(void *ctx);                                      /* a clock */
    void (*breakpoint)(void *ctx, struct eval *e, struct loc at);      /* breakpoint(); raises where it cannot */
    int argc;                                                          /* sys.argv */
    const char *const *argv;
};

/* A host-level exception on its way up: `raise`, a failed assert, an error in an operation. */
struct exception {
    struct obj *class, *value; /* value: an instance or NULL */
    struct loc loc;
    const char *message;
    enum error error; /* ERR_exception: the program's own */
    struct loc note_at;
    enum error note; /* with note_name as its argument */
    const char *note_name; /* NULL: no note */
    const struct call_record *calls; /* where it was raised */
};

/* One running call of host code, for tracebacks. */
struct call_record {
    struct loc at;
    const char *callee;
    const struct call_record *outer;
};

/* A `try` (or the top, or a statement being traced) that exceptions unwind to:
 *     struct handler h;
 *     handler_push(e, &h);
 *     if (setjmp(h.jump) == 0) { ...; handler_pop(e, &h); } else { ... h.raised ... }
 * When the jump arrives, the handler is already popped and the evaluator's state is what it was at the
 * push. */
struct handler {
    jmp_buf jump;
    struct handler *outer;
    struct trace *trace;
    int depth, ndiagnostics, nerrors;
    uint16_t call;
    const struct call_record *calls;
    struct exception *handling;
    struct obj *yields;
    struct exception raised; /* class NULL: a kernel's error, reported already */
};

/* A place where a kernel on the interpreter asks the host part; see hostcall.c. */
enum site_kind { SITE_statement, SITE_call, SITE_truth, SITE_int, SITE_float };
struct host_site {
    enum site_kind kind;
    struct loc loc;
    const char *function;   /* of the kernel, that it is in */
    struct scope *closure;  /* around that */
    struct obj *callee;     /* of a call; of the other kinds, what is asked about */
    struct args args;
    int nnames;             /* the variables of the function, */
    const char **names;
    struct obj **values;    /* as traced */
};

/* Tracing state of one kernel; trace.c's own. */
struct trace;

struct eval {
    struct arena *arena;
    struct interner *strings;
    struct diag *diag;
    const struct host *host; /* NULL: compile only; imports of unknown modules give modules without attributes */
    bool definitions_only;   /* no host, or one that says so */
    struct map modules;      /* dotted name to struct obj * */
    struct obj *builtins;    /* module of Python's builtins */
    struct handler *handler; /* innermost */
    struct trace *trace;     /* NULL: concrete */
    struct scope *main;      /* the program's globals */
    uint16_t call;           /* while tracing: loc.call of what is reported now (0: the kernel itself) */
    int depth;               /* of calls and nested expressions; bounded */
    int64_t steps, step_limit; /* statements executed; 0: no limit (compile time of hostile loops) */
    size_t work;             /* bytes looked at since the last step (eval_work) */
    size_t looked_at_bytes;  /* the arena's, when the time was last looked at */
    struct loc at;           /* of the latest: for what has no place of its own */
    const struct call_record *calls; /* of host code, innermost first */
    struct map ids;          /* object to what id() says */
    struct map signatures;   /* builtin to its parsed parameters */
    struct map sources;      /* a module's scope to its struct source */
    struct exception *handling; /* what the innermost `except` around caught; NULL: none */
    struct obj *yields;      /* of the generator function now running: the values so far */
};

/* What kernel arguments are when compiling: one per parameter, by position. */
struct spec_arg {
    const char *name;             /* filled in by frontend_trace */
    bool is_const;
    struct obj *value;            /* const: the value */
    const struct lang_type *type; /* run time */
    int divisible;                /* 16 where known, else 1 */
    bool equals_one;              /* an int argument of value 1: const, no run-time parameter */
};
struct spec {
    int nargs;
    struct spec_arg *args;
    /* By parameter: NULL, or a tuple, of whose items those that are no tuples take an argument each. NULL:
     * no parameter has any. */
    struct obj *const *parts;
    /* **META of the 1.0 dialect: keywords that name no parameter */
    int nmeta;
    const char **meta_names;
    struct obj **meta_values;
    int num_warps, num_stages, num_ctas, maxnreg;
    bool fp_fusion, debug;
    const struct target *target;
    bool interpreter; /* plain Python helpers may be called (op host_call) */
    bool stops;       /* keep a site before each statement, since a debugger may stop there */
    VEC(struct host_site *) sites; /* filled in by frontend_trace, as is: */
    bool has_host_calls;
};

/* -- eval.c -- */
void eval_init(struct eval *e, struct arena *a, struct interner *strings, struct diag *d, const struct host *h);
/* Parses and executes a file's top level. With host NULL only what kernels need is executed: imports, defs,
 * classes, assignments that can be evaluated; everything else is skipped without error. Errors are in diag;
 * returns the module or NULL. An uncaught exception of a host program is reported as a diagnostic with its
 * traceback as notes; *failed (may be NULL) is then set: exit 1, not 2. */
struct obj *eval_file(struct eval *e, const struct source *src, const char *module_name, bool *failed);
struct obj *eval_expr(struct eval *e, struct scope *s, const struct ast *x);
enum flow { FLOW_next, FLOW_break, FLOW_continue, FLOW_return };
/* Executes statements in order. When tracing, an error ends its statement only: the names it would
 * bind become obj_error. */
enum flow eval_block(struct eval *e, struct scope *s, const struct ast_list *block, struct obj **result);
struct obj *eval_call(struct eval *e, struct obj *callee, const struct args *args);
struct obj *eval_call1(struct eval *e, struct obj *callee, struct obj *arg, struct loc at);
/* Binds args to a def's parameters: scope gets a name each. Reports missing, unexpected, duplicate
 * arguments. */
void eval_bind(struct eval *e, struct function *f, const struct args *args, struct scope *into);
void eval_assign(struct eval *e, struct scope *s, const struct ast *target, struct obj *value);
struct obj *eval_getattr(struct eval *e, struct obj *x, const char *name, struct loc at);
struct obj *eval_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);  /* concrete or traced */
struct obj *eval_unary(struct eval *e, enum oper op, struct obj *a, struct loc at);
struct obj *eval_compare(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
/* Reports and unwinds: to the statement being traced in a kernel, to the innermost `try` in host code.
 * `class_name`: the Python exception ("TypeError"). Texts are rows of ir/support/errors.h. */
_Noreturn void eval_raise(struct eval *e, struct loc at, const char *class_name, enum error error, ...);
/* Counts one statement, or what takes as long; raises past the limit. */
void eval_step(struct eval *e, struct loc at);
/* Counts what functions written in C look at, text and nodes of what holds others: a step for so many bytes. */
void eval_work(struct eval *e, size_t bytes);
enum { NODE_BYTES = 64 };
void handler_push(struct eval *e, struct handler *h);
void handler_pop(struct eval *e, struct handler *h);
/* Raises an exception that is made already: what a handler caught, say. */
_Noreturn void eval_throw(struct eval *e, const struct exception *x);
/* Leaves a value as output of host `print`. */
void eval_write(struct eval *e, const char *s, size_t n);

/* -- kernel.c -- */
/* Executes one statement of a kernel. An error ends the statement, and the names it would
 * bind become obj_error. */
enum flow kernel_statement(struct eval *e, struct scope *s, const struct ast *x, struct obj **result);

/* -- trace.c: the kernel's rules -- */
/* Traces a kernel into m at the traced degree; NULL: errors are in diag. */
struct func *frontend_trace(struct eval *e, struct obj *jit, struct spec *spec, struct module *m);
/* For eval.c, when e->trace: statements and names whose rule differs from plain Python. */
/* The place for ops and errors: with the chain of calls, and in the user's code. */
struct loc trace_loc(const struct eval *e, struct loc at);
bool trace_is_tensor(const struct obj *x);
enum flow trace_if(struct eval *e, struct scope *s, const struct ast *stmt, struct obj *cond, struct obj **result);
enum flow trace_for(struct eval *e, struct scope *s, const struct ast *stmt, struct obj **result);
enum flow trace_while(struct eval *e, struct scope *s, const struct ast *stmt, struct obj **result);
/* value NULL: `x: tl.constexpr` alone, which makes a later assignment const. */
void trace_assign(struct eval *e, struct scope *s, const struct ast *target, struct obj *value, bool annotated_constexpr);
struct obj *trace_name(struct eval *e, struct scope *s, const struct ast *name);
struct obj *trace_call_jit(struct eval *e, struct obj *callee, const struct args *args);
struct obj *trace_if_expr(struct eval *e, struct scope *s, const struct ast *x, struct obj *cond);
struct obj *trace_bool_op(struct eval *e, struct scope *s, const struct ast *x);
/* region.c. Runs a jit function (a reduction's combine function) on the 2n scalars of region `b`, of types[0..n-1]
 * twice; yields its n results. False: an error is reported. */
bool trace_region(struct eval *e, struct obj *combine, struct block *b, int n, const struct lang_type *const *types, struct loc at);
struct builder *trace_builder(struct eval *e, struct loc at); /* where ops go now, with this place */

/* -- python.c -- */
/* The value of an expression's text; raises SyntaxError too. */
struct obj *eval_text(struct eval *e, struct scope *s, const char *text, size_t n, struct loc at);

/* -- hostcall.c: what kernels on the interpreter ask of the host part -- */
/* Traces a call that is for the host; NULL: it is not. */
struct obj *trace_call_host(struct eval *e, struct obj *callee, const struct args *args);
/* An f-string in a kernel: text, or an object that becomes text when the kernel runs. */
struct obj *trace_fstring(struct eval *e, struct scope *s, const struct ast *x);
/* What an `if` asks of x: of a host function's result its truth, as a tensor; else x itself. */
struct obj *trace_truth(struct eval *e, struct obj *x, struct loc at);
/* The call at this place is a statement: its result is not used. */
void trace_drop_result(struct eval *e, struct loc call);
/* A statement begins: a debugger may stop here. */
void trace_statement(struct eval *e, struct scope *s, struct loc at);
/* The op host_call of this site is reached: its operands, and where its result goes. Raises as host code
 * does. */
void host_site_run(struct eval *e, const struct host_site *site, const char *const *values, char *result);
/* The variables of the kernel there, as objects. */
struct scope *host_site_scope(struct eval *e, const struct host_site *site, const char *const *values);

/* -- promote.c: language.md 3 -- */
/* A const or tensor as a tensor by itself (2.5); an obj_error stays. */
struct obj *to_tensor(struct eval *e, struct obj *x, struct loc at);
struct obj *tensor_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
struct obj *tensor_unary(struct eval *e, enum oper op, struct obj *a, struct loc at);
struct obj *tensor_compare(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
struct obj *tensor_cast(struct eval *e, struct obj *x, const struct lang_type *scalar, enum rounding round, bool bitcast, struct loc at);
struct obj *tensor_broadcast_to(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at);
/* Both made one shape (3.2), or one type by 3.1 and one shape. */
void tensor_broadcast(struct eval *e, struct obj **a, struct obj **b, struct loc at);
void tensor_promote(struct eval *e, struct obj **a, struct obj **b, bool is_division, struct loc at);
/* A condition: scalar i1 (4.1). */
struct value *tensor_condition(struct eval *e, struct obj *x, struct loc at);
struct obj *tensor_getitem(struct eval *e, struct obj *x, struct obj *index, struct loc at);
struct obj *tensor_getattr(struct eval *e, struct obj *x, const char *name, struct loc at); /* NULL: no such */

/* -- block.c -- */
bool is_box(const struct obj *x); /* a block pointer or a tensor descriptor */
struct obj *box_getattr(struct eval *e, struct obj *x, const char *name); /* NULL: no such */
/* Are two boxes of one class of one type to a user? And box x, in 64 bits what `with` keeps in another way. */
bool box_agrees(struct eval *e, const struct obj *x, const struct obj *with);
struct obj *box_meet(struct eval *e, struct obj *x, const struct obj *with, struct loc at);
/* What a launch takes apart, into a tuple: tuples, named tuples, tensor descriptors of the host.
 * NULL: x is none of these. */
struct obj *argument_parts(struct eval *e, struct obj *x);
/* What part i of such a tuple is called; NULL: it has only its number. */
const char *argument_part_name(struct eval *e, const struct obj *parts, int i);
/* One of the tuples that are descriptors: base, shape, strides, block_shape, padding. */
struct obj *descriptor_new(struct eval *e, struct obj *const *fields);
/* Is a tuple that a launch has made, which calls itself a descriptor, one? */
bool check_descriptor(struct eval *e, const struct obj *x, struct loc at);

/* -- builtins.c: triton, triton.language and their submodules as modules of builtins -- */
struct obj *builtins_module(struct eval *e, const char *dotted_name); /* NULL: not ours */
/* Every builtin with its parameters, a line each: `neso help language`. */
void builtins_help(struct text *out);
/* All functions and types that such a module has, as the names of a scope: for "did you mean". */
struct scope *builtins_names(struct eval *e, const struct obj *module);
/* Members of a dtype or pointer type; NULL: no such. */
struct obj *builtins_type_attr(struct eval *e, struct obj *type, const char *name, struct loc at);
/* Is x a class of triton.language for isinstance (tl.tensor, tl.pointer_type)? And is x of such a class? */
bool builtins_is_class(const struct obj *x);
bool builtins_isinstance(const struct eval *e, const struct obj *x, const struct obj *class);

/* -- prelude.py, library.py: functions of the language and modules of Python that are written in Python -- */
extern const char prelude_py[], library_py[];
/* A section of such a text: from its heading `# -- NAME` up to the next one. */
struct section {
    const char *s;
    size_t len;
};
/* Moves to the next section of the text (from {0}: to the first); false: there is none. */
bool section_next(const char *text, struct section *at);
/* Runs the section under `# -- SECTION` as a module of that name; NULL: there is none. */
struct obj *eval_section(struct eval *e, const char *text, const char *section, const char *name);
/* The place for a message about something at `at`, or if that is none at the latest statement. */
struct loc eval_place(const struct eval *e, struct loc at);
struct loc eval_outside(const struct eval *e, struct loc at); /* of a place in such a section: where the user's code called it */

#endif
