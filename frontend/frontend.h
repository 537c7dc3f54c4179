/* SPDX-License-Identifier: MIT */
/* frontend.h: the interface of the frontend, which compiles kernels from Python source to IR, and runs the host
 * code of programs.
 *
 * One evaluator executes statements in two ways. The evaluator executes module-level code, host functions and
 * operations on constexprs concretely. Inside a kernel, it traces: an operator with a tensor operand appends ops to
 * the IR. eval.c executes the statements of host code, kernel.c executes the statements of kernels, and expr.c
 * evaluates the expressions of both. For tensors, and where kernels differ from Python, these files call trace.c
 * (names, assignments, calls), loops.c and merge_values.c (loops, branches) and promote.c (operators).
 *
 *     tokens ─► syntax tree ─► eval.c, expr.c ──concrete──► objects, host effects
 *                                    └──────────tensor────► trace/, builtins/ ─► IR
 *
 * The folders in reading order: python/ (tokens, syntax trees, objects and the evaluator of plain Python),
 * trace/ (tracing of kernels into IR), builtins/ (the functions of triton and triton.language), prelude.py and
 * libdevice.py (functions of triton.language and of triton.language.extra.libdevice that are written in Triton's
 * language), library.py (modules of Python's library). */
#ifndef NESO_FRONTEND_FRONTEND_H
#define NESO_FRONTEND_FRONTEND_H

#include "frontend/python/ast.h"
#include "frontend/python/value.h"

/* Types of the IR (ir/ir.h), which the files in python/ use only by pointer. */
struct block;
struct builder;
struct func;
struct module;

/* Clocks of module time: since 1970 (time.time), since an arbitrary start (perf_counter, monotonic), and the processor
 * time of the process (process_time). */
enum host_clock { CLOCK_wall, CLOCK_steady, CLOCK_processor };

/* The services that the runtime provides to programs: modules that the frontend does not have, launches,
 * output, environment. */
struct host {
    void *ctx;
    /* If true, the evaluator executes only statements that kernels need, as without a host. Unlike without a host, it
     * imports files from the program's folder. */
    bool definitions_only;
    /* If true, every `assert` of host code passes. Set if kernels do not run, because the program then checks values
     * that no kernel has computed. */
    bool assertions_hold;
    /* Imports a module by its dotted name ("torch", "triton.testing", "os"); returns NULL if the host does not have the
     * module. import.c searches in this order: the modules of triton (builtins_module), the host's modules, the modules
     * of Python's library (library.c), and the program's files. */
    struct obj *(*import)(void *ctx, struct eval *e, const char *name, struct loc at);
    /* Returns the text of a user's file that a program imports (`import helpers` reads helpers.py in the
     * program's folder); NULL if there is no such file. */
    const struct source *(*find_source)(void *ctx, struct eval *e, const char *module);
    /* Executes kernel[grid](args). The grid is the object that the program passed: a tuple, list, int or callable. */
    struct obj *(*launch)(void *ctx, struct eval *e, struct obj *kernel, struct obj *grid, const struct args *args);
    /* Returns an attribute of a jit function that the runtime adds (`warmup`, `best_config`); NULL if there is
     * no such attribute. */
    struct obj *(*jit_attr)(void *ctx, struct eval *e, struct obj *kernel, const char *name);
    void (*write)(void *ctx, const char *s, size_t n, bool to_stderr); /* writes the output of print */
    const char *(*getenv)(void *ctx, const char *name);                /* NULL if the variable is not set */
    /* Called when the program sets an environment variable; may be NULL. */
    void (*setenv)(void *ctx, struct eval *e, const char *name, const char *value, struct loc at);
    int64_t (*nanoseconds)(void *ctx, enum host_clock clock);          /* returns the time of the clock */
    /* Executes breakpoint(); raises an exception if the host has no debugger. */
    void (*breakpoint)(void *ctx, struct eval *e, struct loc at);
    int argc;                                                          /* arguments of the program: sys.argv */
    const char *const *argv;
};

/* An exception of host code, raised by `raise`, by a failed assert, or by an error in an operation. */
struct exception {
    struct obj *class, *value; /* value: an instance or NULL */
    struct loc loc;
    const char *message;
    enum error error; /* ERR_exception if the program raised the exception */
    struct loc note_at;
    enum error note; /* a note whose argument is note_name */
    const char *note_name; /* NULL if there is no note */
    const struct call_record *calls; /* the calls that were active when the exception was raised */
};

/* One active call of host code, for tracebacks. */
struct call_record {
    struct loc at;
    const char *callee;
    const struct call_record *outer;
};

/* A jump target to which exceptions unwind: a `try`, the top level, or a statement that is traced:
 *     struct handler h;
 *     handler_push(e, &h);
 *     if (setjmp(h.jump) == 0) { ...; handler_pop(e, &h); } else { ... h.raised ... }
 * After the jump, the handler is already popped, and the evaluator has the same state as at the call of
 * handler_push. */
struct handler {
    jmp_buf jump;
    struct handler *outer;
    struct trace *trace;
    int depth, ndiagnostics, nerrors;
    uint16_t call;
    const struct call_record *calls;
    struct exception *handling;
    struct obj *yields;
    struct exception raised; /* its class is NULL after an error in a kernel, which is already reported */
};

/* A site is a point of a kernel at which the interpreter calls the host; see hostcall.c. */
enum site_kind { SITE_statement, SITE_call, SITE_truth, SITE_int, SITE_float };
struct host_site {
    enum site_kind kind;
    struct loc loc;
    const char *function;   /* the function that contains the site: the kernel, or a function that is inlined into the
                             * kernel */
    struct scope *closure;  /* the scope that contains that function's definition */
    struct obj *callee;     /* SITE_call: the called function; SITE_truth, SITE_int, SITE_float: the converted object */
    struct args args;
    int nnames;             /* the variables of the function */
    const char **names;
    struct obj **values;    /* the traced values of the variables at the site */
    const struct host_site *caller; /* the function, closure and variables of the caller; NULL if `function` is the kernel */
};

/* The state of tracing one kernel; private to trace.c. */
struct trace;

struct eval {
    struct arena *arena;
    struct interner *strings;
    struct diag *diag;
    /* NULL: there is no host, and kernels are only compiled. Without a host, a module that is not found is imported as
     * a module of unknown values */
    const struct host *host;
    bool definitions_only;   /* true without a host, or if the host sets it */
    struct map modules;      /* dotted name to struct obj * */
    struct obj *builtins;    /* module of Python's builtins */
    struct handler *handler; /* the innermost handler */
    struct trace *trace;     /* NULL while statements are executed concretely */
    struct scope *main;      /* the scope with the program's globals */
    uint16_t call;           /* while tracing: the index of the inlined call being traced, for loc.call; 0: the kernel itself */
    int depth;               /* the depth of calls and nested expressions; eval.c limits it */
    /* The number of steps so far (see eval_step), and its limit (0: no limit). The limit stops endless loops at compile
     * time. */
    int64_t steps, step_limit;
    size_t work;             /* bytes that eval_work counted since the last step */
    size_t checked_at_bytes; /* the arena's size when the time limit was last checked */
    struct loc at;           /* the location of the latest statement, for messages whose location is unknown */
    const struct call_record *calls; /* the active calls of host code, innermost first */
    struct map ids;          /* maps objects to their id() */
    struct map signatures;   /* maps builtins to their parsed parameters */
    struct map rows;         /* maps each used row of builtins.h to its struct builtin */
    struct map sources;      /* maps a module's scope to its struct source */
    struct exception *handling; /* the exception that the innermost `except` caught; NULL: none */
    struct obj *yields;      /* the values that the running generator function has yielded so far */
};

/* The properties of kernel arguments for compilation: one entry for each parameter, by position. */
struct spec_arg {
    const char *name;             /* the parameter's name, set by frontend_trace */
    bool is_const;
    struct obj *value;            /* the value of a constant */
    const struct lang_type *type; /* the type of an argument that is not a constant */
    int divisible;                /* 16 if the value is known to be a multiple of 16, else 1 */
    bool equals_one;              /* an int argument of value 1, which is compiled as a constant */
};
/* The checks that a traced kernel contains. */
enum debug {
    DEBUG_none,
    DEBUG_all,     /* the kernel's assertions, and checks that + - * of integers do not overflow */
    DEBUG_asserts, /* only the kernel's assertions */
};

struct spec {
    int nargs;
    struct spec_arg *args;
    /* For each parameter, NULL or a tuple. Each item of the tuple, or of a nested tuple, is a separate argument.
     * `parts` is NULL if no parameter is a tuple. */
    struct obj *const *parts;
    /* Keyword arguments that match no parameter: the kernel gets them as **META (Triton 1.0). */
    int nmeta;
    const char **meta_names;
    struct obj **meta_values;
    int num_warps, num_stages, num_ctas, maxnreg;
    bool fp_fusion;
    bool deterministic;
    bool fp_reassoc;
    enum debug debug;
    const struct target *target;
    bool interpreter; /* the kernel may call plain Python functions (op host_call) */
    bool stops;       /* keep a site before each statement, so that a debugger can stop there */
    VEC(struct host_site *) sites; /* the kernel's calls of the host; frontend_trace sets this list */
    bool has_host_calls;           /* at least one site has a kind other than SITE_statement */
};

/* -- eval.c -- */
void eval_init(struct eval *e, struct arena *a, struct interner *strings, struct diag *d, const struct host *h);
/* Parses a file and executes its top level. If the host is NULL, executes only statements that kernels need (imports,
 * defs, classes, and assignments that can be evaluated), and skips all other statements without an error. Returns the
 * module, or NULL after an error, which it reports to diag. Reports an uncaught exception of a host program as a
 * diagnostic whose notes are the traceback. If `failed` is not NULL, sets *failed to whether the program itself
 * failed, by an exception of host code or by an exit status other than 0. A syntax error or an error in a kernel does
 * not count. */
struct obj *eval_file(struct eval *e, const struct source *src, const char *module_name, bool *failed);
struct obj *eval_expr(struct eval *e, struct scope *s, const struct ast *x);
enum flow { FLOW_next, FLOW_break, FLOW_continue, FLOW_return };
/* Executes statements in order. While tracing, an error aborts only the statement with the error; the names that this
 * statement assigns then have the value obj_error. */
enum flow eval_block(struct eval *e, struct scope *s, const struct ast_list *block, struct obj **result);
struct obj *eval_call(struct eval *e, struct obj *callee, const struct args *args);
struct obj *eval_call1(struct eval *e, struct obj *callee, struct obj *arg, struct loc at);
/* Binds arguments to the parameters of f, as names in the scope `into`. Raises TypeError for missing, unexpected and
 * duplicate arguments. */
void eval_bind(struct eval *e, struct function *f, const struct args *args, struct scope *into);
void eval_assign(struct eval *e, struct scope *s, const struct ast *target, struct obj *value);
struct obj *eval_getattr(struct eval *e, struct obj *x, const char *name, struct loc at);
/* eval_binary, eval_unary and eval_compare compute the result of an operator, or trace the operator if an operand is
 * a tensor. */
struct obj *eval_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
struct obj *eval_unary(struct eval *e, enum oper op, struct obj *a, struct loc at);
struct obj *eval_compare(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
/* Raises an error. In a kernel, reports the error and unwinds to the statement being traced. In host code, unwinds to
 * the innermost `try`. `class_name` is the Python exception ("TypeError"); the message is a row of
 * ir/support/errors.h. */
_Noreturn void eval_raise(struct eval *e, struct loc at, const char *class_name, enum error error, ...);
/* Counts one step: a statement, or another operation that takes about as long. Raises an error if the number of steps
 * exceeds the limit. */
void eval_step(struct eval *e, struct loc at);
/* Counts work on data as steps. `bytes` is the length of a text that the caller searches. For an object that the
 * caller prints, compares, hashes, copies or creates, `bytes` is NODE_BYTES. A fixed number of bytes counts as one
 * step. */
void eval_work(struct eval *e, size_t bytes);
enum { NODE_BYTES = 64 };
void handler_push(struct eval *e, struct handler *h);
void handler_pop(struct eval *e, struct handler *h);
/* Raises an existing exception, for example one that a handler caught. */
_Noreturn void eval_throw(struct eval *e, const struct exception *x);
/* Writes n bytes of text to the output of the host's `print`. */
void eval_write(struct eval *e, const char *s, size_t n);

/* -- kernel.c -- */
/* Executes one statement of a kernel. An error aborts the statement; the names that the statement assigns then have the
 * value obj_error. */
enum flow kernel_statement(struct eval *e, struct scope *s, const struct ast *x, struct obj **result);

/* -- trace.c: the kernel's rules -- */
/* Traces a kernel: adds its IR function, whose degree is DEGREE_traced (ir/ir.h), to module m. Returns NULL after
 * errors, which it reports to diag. */
struct func *frontend_trace(struct eval *e, struct obj *jit, struct spec *spec, struct module *m);
/* Returns the location that ops and errors get for code at `at`, with the chain of inlined calls. For code of the
 * prelude, this is the location of the user's call. */
struct loc trace_loc(const struct eval *e, struct loc at);
bool trace_is_tensor(const struct obj *x); /* returns whether x is a tensor, or a tuple that contains a tensor */
/* The evaluator calls the following functions if e->trace is set, for statements, names and operators whose rules in
 * kernels differ from those of plain Python. */
enum flow trace_if(struct eval *e, struct scope *s, const struct ast *stmt, struct obj *cond, struct obj **result);
enum flow trace_for(struct eval *e, struct scope *s, const struct ast *stmt, struct obj **result);
enum flow trace_while(struct eval *e, struct scope *s, const struct ast *stmt, struct obj **result);
/* Traces an assignment. If value is NULL, the statement is `x: tl.constexpr` without a value; the value of a later
 * assignment to x is then a constexpr. */
void trace_assign(struct eval *e, struct scope *s, const struct ast *target, struct obj *value,
                  bool annotated_constexpr);
struct obj *trace_name(struct eval *e, struct scope *s, const struct ast *name);
struct obj *trace_call_jit(struct eval *e, struct obj *callee, const struct args *args);
struct obj *trace_if_expr(struct eval *e, struct scope *s, const struct ast *x, struct obj *cond);
struct obj *trace_bool_op(struct eval *e, struct scope *s, const struct ast *x);
/* region.c: traces the jit function `combine` of a reduction or scan into its region b, and yields the n results. The
 * region has 2n scalar arguments: n arguments of types[0] to types[n - 1], and then n more of the same types. Returns
 * false after an error, which it reports. */
bool trace_region(struct eval *e, struct obj *combine, struct block *b, int n, const struct lang_type *const *types,
                  struct loc at);
/* Returns a builder that appends ops with this location to the current block. */
struct builder *trace_builder(struct eval *e, struct loc at);

/* -- python.c -- */
/* Parses an expression and returns its value. A syntax error raises SyntaxError. */
struct obj *eval_text(struct eval *e, struct scope *s, const char *text, size_t n, struct loc at);

/* -- hostcall.c: calls of the host by kernels on the interpreter -- */
/* Traces a call that the host executes. Returns NULL if the callee is not a host function. */
struct obj *trace_call_host(struct eval *e, struct obj *callee, const struct args *args);
/* Evaluates an f-string in a kernel. Returns a str, or an object whose text is computed when the kernel runs. */
struct obj *trace_fstring(struct eval *e, struct scope *s, const struct ast *x);
/* Returns the condition of `if x`. If x is the result of a host function, this is a tensor with the result's truth
 * value; otherwise, it is x itself. */
struct obj *trace_truth(struct eval *e, struct obj *x, struct loc at);
/* Records that the call at this location is a statement: its result is not used. */
void trace_drop_result(struct eval *e, struct loc call);
/* Adds a site before a statement of scope s, so that a debugger can stop there. */
void trace_statement(struct eval *e, struct scope *s, struct loc at);
/* Executes the host_call op of this site, and stores its result in `result`. values[i] points to the value of operand
 * i. May raise exceptions, like any host code. */
void host_site_run(struct eval *e, const struct host_site *site, const char *const *values, char *result);
/* Returns a scope with the variables of a function at the site. The variables are concrete objects that are made from
 * `values`. If `up` is 0, the function is the site's function; otherwise, it is the caller `up` levels above. */
struct scope *host_site_scope(struct eval *e, const struct host_site *site, const char *const *values, int up);
/* Returns the site if `up` is 0; otherwise, returns its caller `up` levels above. Sets *first to the index, in the
 * site's values, of the first value of the variables of the returned site's function. */
const struct host_site *host_site_frame(struct eval *e, const struct host_site *site, int up, int *first);

/* -- expression.c: the debugger's expressions -- */
struct expression {
    const struct ast *tree;
    struct func *func; /* its parameters are the kernel's parameters, and then one parameter for each value of the
                        * frame */
    int first;         /* the index of the frame's first value in the list of the site's values */
    struct spec spec;  /* the last site gets the result; all other sites are the expression's calls of the host */
};
/* Parses an expression, and traces it into a function that computes it from the values of a frame. The frame is the
 * site's frame if `up` is 0; otherwise, it is the frame `up` levels above. Reports errors to diag, or raises an
 * exception. Sets x->tree even if kernels do not allow the expression, as long as the expression is valid Python. */
void frontend_trace_expression(struct eval *e, const struct host_site *site, int up, const struct func *kernel,
                               const struct spec *spec, const char *text, struct expression *x);
/* Returns the result of an expression. `site` is the expression's last site. */
struct obj *host_site_result(struct eval *e, const struct host_site *site, const char *const *values);

/* -- promote.c: operators on tensors -- */
/* Converts a constant or tensor to a tensor. A number gets its decayed_type (trace.h). Returns an obj_error
 * unchanged. */
struct obj *to_tensor(struct eval *e, struct obj *x, struct loc at);
struct obj *tensor_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
struct obj *tensor_unary(struct eval *e, enum oper op, struct obj *a, struct loc at);
struct obj *tensor_compare(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
struct obj *tensor_broadcast_to(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at);
/* tensor_broadcast broadcasts *a and *b to one shape. tensor_promote also converts both to a common type; is_division
 * means that the operator is a division. After an error, which they report, both operands are obj_error. */
void tensor_broadcast(struct eval *e, struct obj **a, struct obj **b, struct loc at);
void tensor_promote(struct eval *e, struct obj **a, struct obj **b, bool is_division, struct loc at);
/* Converts a condition x to a scalar i1; returns NULL after an error, which it reports. */
struct value *tensor_condition(struct eval *e, struct obj *x, struct loc at);
struct obj *tensor_getitem(struct eval *e, struct obj *x, struct obj *index, struct loc at);
/* Returns an attribute of a tensor; NULL if there is no such attribute. */
struct obj *tensor_getattr(struct eval *e, struct obj *x, const char *name, struct loc at);

/* -- block.c -- */
bool is_box(const struct obj *x); /* returns whether x is a block pointer or a tensor descriptor */
struct obj *box_getattr(struct eval *e, struct obj *x, const char *name); /* NULL if there is no such attribute */
/* Returns whether two block pointers, or two descriptors, have the same type in Triton's language. The caller has
 * checked that both are of the same kind. The integer types of the sizes, strides and offsets may differ. */
bool box_agrees(struct eval *e, const struct obj *x, const struct obj *with);
/* Returns a copy of x. A size, stride or offset whose type differs between x and `with` is converted to 64 bits. */
struct obj *box_widen(struct eval *e, struct obj *x, const struct obj *with, struct loc at);
/* Converts the argument x of a launch to a tuple, whose items are passed separately. x may be a tuple, a named tuple,
 * or a tensor descriptor of the host. Returns NULL for any other x. */
struct obj *argument_parts(struct eval *e, struct obj *x);
/* Returns the field name of item i of a tuple that argument_parts returned; NULL if the item has no name. */
const char *argument_part_name(struct eval *e, const struct obj *parts, int i);
/* Returns a tuple that represents a descriptor, with the fields base, shape, strides, block_shape, padding. */
struct obj *descriptor_new(struct eval *e, struct obj *const *fields);
/* Checks that the tuple x, which a launch passes as a descriptor, has a descriptor's fields. Returns false after an
 * error, which it reports. */
bool check_descriptor(struct eval *e, const struct obj *x, struct loc at);

/* -- builtins.c: triton, triton.language and their submodules as modules of builtins -- */
struct obj *builtins_module(struct eval *e, const char *dotted_name); /* NULL for any other module */
/* Prints every builtin with its parameters, one builtin per line, for `neso help language`. */
void builtins_help(struct text *out);
/* Returns a scope with the names of all functions and types of a module of builtins, for "did you mean" hints. */
struct scope *builtins_names(struct eval *e, const struct obj *module);
/* Returns the name in triton.language of the type with the short name `name`: "float16" for "fp16". Returns NULL if
 * `name` is not such a short name. */
const char *builtins_long_name(const char *name);
/* Returns a member of a type, such as tl.float32.itemsize; NULL if the type has no such member. */
struct obj *builtins_type_attr(struct eval *e, struct obj *type, const char *name, struct loc at);
/* Returns whether x is a class of triton.language that isinstance accepts (tl.tensor, tl.pointer_type). */
bool builtins_is_class(const struct obj *x);
/* Returns whether x is an instance of `class`, for which builtins_is_class is true. */
bool builtins_isinstance(const struct eval *e, const struct obj *x, const struct obj *class);

/* -- prelude.py, libdevice.py, library.py: the parts of triton.language, its libdevice and Python's library that are
 * written in Python -- */
extern const char prelude_py[], libdevice_py[], library_py[];
/* A section of one of these texts. A section extends from its heading `# -- NAME` to the next heading. */
struct section {
    const char *s;
    size_t len;
};
/* Moves *at to the next section of the text, or to the first section if *at is all zero. Returns false at the end. */
bool section_next(const char *text, struct section *at);
/* Executes the section with the heading `# -- SECTION` as a module with the name `name`. Returns NULL if there is no
 * such section. */
struct obj *eval_section(struct eval *e, const char *text, const char *section, const char *name);
/* Returns the location in the user's code for a message at `at`; if `at` is unknown, for a message at the latest
 * statement. */
struct loc eval_place(const struct eval *e, struct loc at);
/* If the location is in the user's code, returns it unchanged. If the location is in a section of these texts, returns
 * the location of the user's call that led to the section. */
struct loc eval_outside(const struct eval *e, struct loc at);

#endif
