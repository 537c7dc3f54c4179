/* frontend.h: the frontend: it compiles kernels from Python source to IR, and runs the host code of programs.
 *
 * One evaluator executes statements in two ways: concretely (module level, host functions, constexprs), and,
 * inside a kernel, by tracing: an operator with a tensor operand emits IR. eval.c and expr.c have the only
 * switches over syntax; for tensors, and where kernels differ from Python, they call trace.c (statements,
 * calls, names) and promote.c (operators, casts).
 *
 *     tokens ─► syntax tree ─► eval.c ──concrete──► objects, host effects
 *                                 └───tensor──────► trace.c, promote.c, builtins/ ─► IR
 *
 * The folders in reading order: python/ (tokens, syntax trees, objects and the evaluator of plain Python),
 * trace/ (tracing of kernels into IR), builtins/ (the functions of triton and triton.language), prelude.py
 * (those that are written in the language), library.py (modules of Python's library). */
#ifndef NESO_FRONTEND_FRONTEND_H
#define NESO_FRONTEND_FRONTEND_H

#include "frontend/python/ast.h"
#include "frontend/python/value.h"

/* Of the IR (ir/ir.h), which plain Python does not look into. */
struct block;
struct builder;
struct func;
struct module;

/* What the runtime provides to programs: modules that the frontend does not have, launches, output,
 * environment. */
struct host {
    void *ctx;
    /* execute only what kernels need, as without a host, but search imports beside the program */
    bool definitions_only;
    /* Imports a module by its dotted name ("torch", "triton.testing", "os"); NULL: unknown. The frontend asks
     * builtins_module for triton's own modules before, and library.c for modules of Python's library
     * afterwards. */
    struct obj *(*import)(void *ctx, struct eval *e, const char *name, struct loc at);
    /* The text of a user file that can be imported (`import helpers` beside the program), or NULL. */
    const struct source *(*find_source)(void *ctx, struct eval *e, const char *module);
    /* kernel[grid](args): the grid as the program gave it (tuple, list, int or callable). */
    struct obj *(*launch)(void *ctx, struct eval *e, struct obj *kernel, struct obj *grid, const struct args *args);
    /* Attributes of a jit function that the runtime adds (`warmup`, `best_config`); NULL: there is no such
     * attribute. */
    struct obj *(*jit_attr)(void *ctx, struct eval *e, struct obj *kernel, const char *name);
    void (*write)(void *ctx, const char *s, size_t n, bool to_stderr); /* output of print */
    const char *(*getenv)(void *ctx, const char *name);                /* NULL: unset */
    /* Called when the program sets a variable of its environment; may be NULL. */
    void (*setenv)(void *ctx, struct eval *e, const char *name, const char *value, struct loc at);
    double (*seconds)(void *ctx);                                      /* the time in seconds */
    /* runs a breakpoint(); raises an exception where that is impossible */
    void (*breakpoint)(void *ctx, struct eval *e, struct loc at);
    int argc;                                                          /* sys.argv */
    const char *const *argv;
};

/* An exception of host code that unwinds: from `raise`, a failed assert, or an error in an operation. */
struct exception {
    struct obj *class, *value; /* value: an instance or NULL */
    struct loc loc;
    const char *message;
    enum error error; /* ERR_exception: the program raised it */
    struct loc note_at;
    enum error note; /* a note whose argument is note_name */
    const char *note_name; /* NULL: no note */
    const struct call_record *calls; /* the calls that were running where it was raised */
};

/* One running call of host code, for tracebacks. */
struct call_record {
    struct loc at;
    const char *callee;
    const struct call_record *outer;
};

/* A place to which exceptions unwind: a `try`, the top level, or a statement that is traced:
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
    struct exception raised; /* class NULL: an error of a kernel, already reported */
};

/* A place where a kernel on the interpreter calls the host; see hostcall.c. */
enum site_kind { SITE_statement, SITE_call, SITE_truth, SITE_int, SITE_float };
struct host_site {
    enum site_kind kind;
    struct loc loc;
    const char *function;   /* the kernel or the function called by it that contains the place */
    struct scope *closure;  /* the scope around that function */
    struct obj *callee;     /* the function of a call; for other kinds, the object that is converted */
    struct args args;
    int nnames;             /* the variables of the function, */
    const char **names;
    struct obj **values;    /* with their values at this place, as traced */
};

/* The state of tracing one kernel; private to trace.c. */
struct trace;

struct eval {
    struct arena *arena;
    struct interner *strings;
    struct diag *diag;
    /* NULL: compile only; imports of unknown modules then give modules without attributes */
    const struct host *host;
    bool definitions_only;   /* there is no host, or the host says so */
    struct map modules;      /* dotted name to struct obj * */
    struct obj *builtins;    /* module of Python's builtins */
    struct handler *handler; /* innermost */
    struct trace *trace;     /* NULL: concrete */
    struct scope *main;      /* the scope with the program's globals */
    uint16_t call;           /* while tracing: the loc.call of current messages (0: the kernel itself) */
    int depth;               /* of calls and nested expressions; limited */
    /* statements executed; 0: no limit (limits the compile time of endless loops) */
    int64_t steps, step_limit;
    size_t work;             /* bytes processed since the last step (eval_work) */
    size_t looked_at_bytes;  /* the arena's size when the time was last checked */
    struct loc at;           /* place of the latest statement, for messages without a place of their own */
    const struct call_record *calls; /* of host code, innermost first */
    struct map ids;          /* maps objects to their id() */
    struct map signatures;   /* maps builtins to their parsed parameters */
    struct map sources;      /* maps a module's scope to its struct source */
    struct exception *handling; /* the exception that the innermost `except` caught; NULL: none */
    struct obj *yields;      /* the values that the running generator function has yielded so far */
};

/* The properties of kernel arguments for compilation: one entry per parameter, by position. */
struct spec_arg {
    const char *name;             /* set by frontend_trace */
    bool is_const;
    struct obj *value;            /* the value of a constant */
    const struct lang_type *type; /* the type of a run-time argument */
    int divisible;                /* 16 if known to be a multiple, else 1 */
    bool equals_one;              /* an int argument of value 1: a constant, not a run-time parameter */
};
struct spec {
    int nargs;
    struct spec_arg *args;
    /* By parameter: NULL, or a tuple whose items (those of nested tuples too) are separate arguments. NULL:
     * no parameter is a tuple. */
    struct obj *const *parts;
    /* **META of the 1.0 dialect: keywords that are not parameters */
    int nmeta;
    const char **meta_names;
    struct obj **meta_values;
    int num_warps, num_stages, num_ctas, maxnreg;
    bool fp_fusion, debug;
    const struct target *target;
    bool interpreter; /* the kernel may call plain Python functions (op host_call) */
    bool stops;       /* make a site before each statement, since a debugger may stop there */
    VEC(struct host_site *) sites; /* set by frontend_trace */
    bool has_host_calls;
};

/* -- eval.c -- */
void eval_init(struct eval *e, struct arena *a, struct interner *strings, struct diag *d, const struct host *h);
/* Parses a file and executes its top level. With host NULL it executes only what kernels need: imports, defs,
 * classes, and assignments that can be evaluated; it skips everything else without error. Errors are in diag;
 * returns the module or NULL. An uncaught exception of a host program is reported as a diagnostic with its
 * traceback as notes; *failed (may be NULL) is then set: the exit status is 1, not 2. */
struct obj *eval_file(struct eval *e, const struct source *src, const char *module_name, bool *failed);
struct obj *eval_expr(struct eval *e, struct scope *s, const struct ast *x);
enum flow { FLOW_next, FLOW_break, FLOW_continue, FLOW_return };
/* Executes statements in order. While tracing, an error ends only its statement: the names that it would bind
 * become obj_error. */
enum flow eval_block(struct eval *e, struct scope *s, const struct ast_list *block, struct obj **result);
struct obj *eval_call(struct eval *e, struct obj *callee, const struct args *args);
struct obj *eval_call1(struct eval *e, struct obj *callee, struct obj *arg, struct loc at);
/* Binds arguments to a def's parameters: every parameter becomes a name in the scope. Reports missing,
 * unexpected and duplicate arguments. */
void eval_bind(struct eval *e, struct function *f, const struct args *args, struct scope *into);
void eval_assign(struct eval *e, struct scope *s, const struct ast *target, struct obj *value);
struct obj *eval_getattr(struct eval *e, struct obj *x, const char *name, struct loc at);
/* concrete or traced */
struct obj *eval_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
struct obj *eval_unary(struct eval *e, enum oper op, struct obj *a, struct loc at);
struct obj *eval_compare(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
/* Reports an error and unwinds: in a kernel to the statement being traced, in host code to the innermost
 * `try`. `class_name` is the Python exception ("TypeError"). Texts are rows of ir/support/errors.h. */
_Noreturn void eval_raise(struct eval *e, struct loc at, const char *class_name, enum error error, ...);
/* Counts one statement, or work that takes as long; raises past the limit. */
void eval_step(struct eval *e, struct loc at);
/* Counts the bytes of text and the nodes that functions in C process: so many bytes count as a step. */
void eval_work(struct eval *e, size_t bytes);
enum { NODE_BYTES = 64 };
void handler_push(struct eval *e, struct handler *h);
void handler_pop(struct eval *e, struct handler *h);
/* Raises an existing exception, for example one that a handler caught. */
_Noreturn void eval_throw(struct eval *e, const struct exception *x);
/* Writes a value to the output of the host's `print`. */
void eval_write(struct eval *e, const char *s, size_t n);

/* -- kernel.c -- */
/* Executes one statement of a kernel. An error ends the statement, and the names that it would bind become
 * obj_error. */
enum flow kernel_statement(struct eval *e, struct scope *s, const struct ast *x, struct obj **result);

/* -- trace.c: the kernel's rules -- */
/* Traces a kernel into m, at the traced degree. NULL: errors are in diag. */
struct func *frontend_trace(struct eval *e, struct obj *jit, struct spec *spec, struct module *m);
/* Used by eval.c if e->trace is set: statements and names whose rules differ from plain Python's. */
/* The place for ops and errors: with the chain of calls, and in the user's code. */
struct loc trace_loc(const struct eval *e, struct loc at);
bool trace_is_tensor(const struct obj *x);
enum flow trace_if(struct eval *e, struct scope *s, const struct ast *stmt, struct obj *cond, struct obj **result);
enum flow trace_for(struct eval *e, struct scope *s, const struct ast *stmt, struct obj **result);
enum flow trace_while(struct eval *e, struct scope *s, const struct ast *stmt, struct obj **result);
/* value NULL: `x: tl.constexpr` alone, which makes a later assignment a constexpr. */
void trace_assign(struct eval *e, struct scope *s, const struct ast *target, struct obj *value, bool annotated_constexpr);
struct obj *trace_name(struct eval *e, struct scope *s, const struct ast *name);
struct obj *trace_call_jit(struct eval *e, struct obj *callee, const struct args *args);
struct obj *trace_if_expr(struct eval *e, struct scope *s, const struct ast *x, struct obj *cond);
struct obj *trace_bool_op(struct eval *e, struct scope *s, const struct ast *x);
/* region.c: runs a jit function (a reduction's combine function) on the 2n scalars of region `b`, of
 * types[0..n-1] twice, and yields its n results. Returns false if it reported an error. */
bool trace_region(struct eval *e, struct obj *combine, struct block *b, int n, const struct lang_type *const *types, struct loc at);
/* appends ops to the current block, with this place */
struct builder *trace_builder(struct eval *e, struct loc at);

/* -- python.c -- */
/* The value of an expression's text; a syntax error raises SyntaxError. */
struct obj *eval_text(struct eval *e, struct scope *s, const char *text, size_t n, struct loc at);

/* -- hostcall.c: calls of the host by kernels on the interpreter -- */
/* Traces a call that the host executes; NULL if the callee is not a host function. */
struct obj *trace_call_host(struct eval *e, struct obj *callee, const struct args *args);
/* An f-string in a kernel: text, or an object that becomes text when the kernel runs. */
struct obj *trace_fstring(struct eval *e, struct scope *s, const struct ast *x);
/* The condition of an `if` on x: for the result of a host function its truth, as a tensor; else x itself. */
struct obj *trace_truth(struct eval *e, struct obj *x, struct loc at);
/* Tells that the call at this place is a statement: its result is not used. */
void trace_drop_result(struct eval *e, struct loc call);
/* Marks the begin of a statement, where a debugger may stop. */
void trace_statement(struct eval *e, struct scope *s, struct loc at);
/* Executes the host_call of this site: takes its operands, and stores its result. Raises as host code
 * does. */
void host_site_run(struct eval *e, const struct host_site *site, const char *const *values, char *result);
/* The variables of the kernel at the site, as objects. */
struct scope *host_site_scope(struct eval *e, const struct host_site *site, const char *const *values);

/* -- promote.c: operators on tensors -- */
/* Converts a constant or tensor to a tensor, a number to the type that it has without an operand beside it;
 * an obj_error stays. */
struct obj *to_tensor(struct eval *e, struct obj *x, struct loc at);
struct obj *tensor_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
struct obj *tensor_unary(struct eval *e, enum oper op, struct obj *a, struct loc at);
struct obj *tensor_compare(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
struct obj *tensor_broadcast_to(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at);
/* Broadcasts both to one shape; tensor_promote also converts them to a common type. */
void tensor_broadcast(struct eval *e, struct obj **a, struct obj **b, struct loc at);
void tensor_promote(struct eval *e, struct obj **a, struct obj **b, bool is_division, struct loc at);
/* A condition: converts x to a scalar i1. */
struct value *tensor_condition(struct eval *e, struct obj *x, struct loc at);
struct obj *tensor_getitem(struct eval *e, struct obj *x, struct obj *index, struct loc at);
struct obj *tensor_getattr(struct eval *e, struct obj *x, const char *name, struct loc at); /* NULL: no such attribute */

/* -- block.c -- */
bool is_box(const struct obj *x); /* a block pointer or a tensor descriptor */
struct obj *box_getattr(struct eval *e, struct obj *x, const char *name); /* NULL: no such attribute */
/* box_agrees: do two boxes of one class have the same type for the user? box_meet: x with those parts
 * converted to 64 bits that `with` represents otherwise. */
bool box_agrees(struct eval *e, const struct obj *x, const struct obj *with);
struct obj *box_meet(struct eval *e, struct obj *x, const struct obj *with, struct loc at);
/* Splits an argument into a tuple, as a launch does: tuples, named tuples, tensor descriptors of the host.
 * NULL: x is none of these. */
struct obj *argument_parts(struct eval *e, struct obj *x);
/* The name of part i of such a tuple; NULL: it has only its number. */
const char *argument_part_name(struct eval *e, const struct obj *parts, int i);
/* A tuple that represents a descriptor: base, shape, strides, block_shape, padding. */
struct obj *descriptor_new(struct eval *e, struct obj *const *fields);
/* Checks that a tuple that a launch passes as a descriptor is one. */
bool check_descriptor(struct eval *e, const struct obj *x, struct loc at);

/* -- builtins.c: triton, triton.language and their submodules as modules of builtins -- */
struct obj *builtins_module(struct eval *e, const char *dotted_name); /* NULL: not ours */
/* Prints every builtin with its parameters, one a line: `neso help language`. */
void builtins_help(struct text *out);
/* All functions and types of such a module, as the names of a scope: for "did you mean". */
struct scope *builtins_names(struct eval *e, const struct obj *module);
/* A member of a dtype or pointer type; NULL: the type has no member of that name. */
struct obj *builtins_type_attr(struct eval *e, struct obj *type, const char *name, struct loc at);
/* Is x a class of triton.language for isinstance (tl.tensor, tl.pointer_type)? And is x an instance of such a
 * class? */
bool builtins_is_class(const struct obj *x);
bool builtins_isinstance(const struct eval *e, const struct obj *x, const struct obj *class);

/* -- prelude.py, library.py: functions of the language and modules of Python that are written in Python -- */
extern const char prelude_py[], library_py[];
/* A section of such a text: from its heading `# -- NAME` up to the next heading. */
struct section {
    const char *s;
    size_t len;
};
/* Moves to the next section of the text (from {0}: to the first); returns false at the end. */
bool section_next(const char *text, struct section *at);
/* Executes the section under `# -- SECTION` as a module of that name; NULL: there is no such section. */
struct obj *eval_section(struct eval *e, const char *text, const char *section, const char *name);
/* The place for a message about something at `at`; if that is unknown, the latest statement. */
struct loc eval_place(const struct eval *e, struct loc at);
/* for a place in such a section, the place where the user's code called it */
struct loc eval_outside(const struct eval *e, struct loc at);

#endif
