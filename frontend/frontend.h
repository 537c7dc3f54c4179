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
 * output, environment. A function pointer is NULL if the host does not provide the service. The frontend
 * passes `ctx` to each function. */
struct host {
    void *ctx;
    /* If true, the evaluator executes only the statements that kernels need (see eval_file). Without a host,
     * it also executes only these statements, but then it cannot import files from the program's folder. */
    bool definitions_only;
    /* If true, every `assert` of host code passes. The runtime sets this member if it only compiles kernels,
     * because the program then checks values that no kernel has computed. */
    bool assertions_hold;
    /* Imports a module by its dotted name ("torch", "triton.testing", "os"); returns NULL if the host does not have the
     * module. import.c searches in this order: the modules of triton (builtins_module), the host's modules, the modules
     * of Python's library (library.c), and the program's files. */
    struct obj *(*import)(void *ctx, struct eval *e, const char *name, struct loc at);
    /* Returns the text of a user's file that a program imports (`import helpers` reads helpers.py in the
     * program's folder); NULL if there is no such file. */
    const struct source *(*find_source)(void *ctx, struct eval *e, const char *module);
    /* Executes kernel[grid](args), and returns the value of this call. The grid is the object that the
     * program passed: a tuple, list, int or callable. */
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
    enum error note; /* the message of the exception's note, which is shown at note_at */
    const char *note_name; /* the argument of this message; NULL if the exception has no note */
    const struct call_record *calls; /* the calls that were active when the exception was raised */
};

/* One active call of host code, for tracebacks. */
struct call_record {
    struct loc at;
    const char *callee;
    const struct call_record *outer;
};

/* A jump target to which exceptions unwind: a `try`, the top level, a statement that is traced, and so on:
 *     struct handler h;
 *     handler_push(e, &h);
 *     if (setjmp(h.jump) == 0) { ...; handler_pop(e, &h); } else { ... h.raised ... }
 * After the jump, the handler is already popped, and the members of struct eval that handler_push saved in
 * the handler (trace, depth, call, calls, handling, yields) have their saved values again. */
struct handler {
    jmp_buf jump;
    struct handler *outer;
    struct trace *trace;
    int depth, ndiagnostics, nerrors; /* ndiagnostics, nerrors: the numbers of reported messages and errors */
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

/* The state of tracing one kernel (trace/trace.h). The files in python/ use it only by pointer. */
struct trace;

struct eval {
    struct arena *arena;
    struct interner *strings;
    struct diag *diag;
    /* NULL: there is no host, and kernels are only compiled. The import of a module that is not found then
     * binds an unknown value (import.c) instead of raising an exception. */
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
    size_t work;             /* bytes that eval_work has counted, but not yet converted to a step */
    size_t checked_at_bytes; /* the arena's size when the time limit was last checked */
    struct loc at;           /* the location of the latest statement, for messages whose location is unknown */
    const struct call_record *calls; /* the active calls of host code, innermost first */
    struct map ids;          /* maps objects to their id() */
    struct map signatures;   /* maps each called builtin to its parsed parameters (call.c) */
    struct map rows;         /* maps each used row of builtins.h to its struct builtin */
    struct map sources;      /* maps a module's scope to its struct source */
    struct exception *handling; /* the exception that the innermost `except` caught; NULL: none */
    struct obj *yields;      /* the values that the running generator function has yielded so far */
};

/* The properties of one kernel argument for which the kernel is compiled. */
struct spec_arg {
    const char *name;             /* the argument's name in the IR, set by frontend_trace: the name of the
                                   * parameter, or a name such as x_0 for an item of a tuple x */
    bool is_const;
    struct obj *value;            /* the value of a constant */
    const struct lang_type *type; /* the type of an argument that is not a constant */
    int divisible;                /* 16 if the value is known to be a multiple of 16, else 1 */
    bool equals_one;              /* an int argument of value 1, which is compiled as a constant */
};
/* The checks that the tracer adds to a kernel. */
enum debug {
    DEBUG_none,
    DEBUG_all,     /* the kernel's assertions, and checks that + - * of integers do not overflow */
    DEBUG_asserts, /* only the kernel's assertions */
};

/* A specialization of a kernel: the arguments and options for which it is compiled. */
struct spec {
    /* `args` has one entry for each parameter, by position. If the argument of a parameter is a tuple, the
     * parameter has one entry for each item of the tuple instead (see `parts`). */
    int nargs;
    struct spec_arg *args;
    /* For each parameter: NULL, or the tuple that the launch passes. Each item of this tuple, and each item
     * of a tuple in it, is a separate entry of `args`. `parts` is NULL if no parameter is a tuple. */
    struct obj *const *parts;
    /* Keyword arguments that match no parameter: the kernel gets them as **META (Triton 1.0). */
    int nmeta;
    const char **meta_names;
    struct obj **meta_values;
    int num_warps, num_stages, num_ctas, maxnreg;
    bool fp_fusion;     /* a * b + c may become a fused multiply-add */
    bool deterministic; /* every sum adds in an order that does not depend on the grid or on num_warps */
    bool fp_reassoc;    /* additions and multiplications of floats may be reassociated */
    enum debug debug;
    const struct target *target;
    bool interpreter; /* the kernel may call plain Python functions (op host_call) */
    bool stops;       /* keep the sites before statements (SITE_statement); a debugger can stop there */
    VEC(struct host_site *) sites; /* the sites of the kernel's host_call ops, set by frontend_trace */
    bool has_host_calls;           /* at least one site has a kind other than SITE_statement */
};

/* -- eval.c, expr.c, call.c, attribute.c, operator.c: the evaluator -- */
void eval_init(struct eval *e, struct arena *a, struct interner *strings, struct diag *d, const struct host *h);
/* Parses a file and executes its top level. Returns the module, or NULL after an error, which it reports to
 * diag. If e->definitions_only is set, skips expression statements that kernels do not need, and binds
 * unknown values (import.c) to the names that a failing statement assigns, without an error. Reports an
 * uncaught exception as an error with the traceback as notes. If `failed` is not NULL, sets *failed to true
 * if host code raised an uncaught exception or exited with a status other than 0, and to false in all other
 * cases, which include syntax errors and errors in kernels. */
struct obj *eval_file(struct eval *e, const struct source *src, const char *module_name, bool *failed);
struct obj *eval_expr(struct eval *e, struct scope *s, const struct ast *x);
enum flow { FLOW_next, FLOW_break, FLOW_continue, FLOW_return };
/* Executes statements in order, until one of them returns another flow than FLOW_next. Returns this flow, or
 * FLOW_next after the last statement. Sets *result to the returned value if the flow is FLOW_return. While
 * tracing, an error aborts only the statement with the error; the names that this statement assigns then have
 * the value obj_error. */
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
 * the innermost handler. `class_name` is the name of the Python exception ("TypeError"). `error` is a row of
 * ir/support/errors.h; the arguments after it are the arguments of the row's message. */
_Noreturn void eval_raise(struct eval *e, struct loc at, const char *class_name, enum error error, ...);
/* Counts one step: a statement, or another operation that takes about as long. Raises an error if the number of steps
 * exceeds e->step_limit. */
void eval_step(struct eval *e, struct loc at);
/* Counts work on data as steps: each 1024 bytes count as one step. `bytes` is the length of the text that the
 * caller searches. A caller that prints, compares, hashes, copies or creates an object passes NODE_BYTES. */
void eval_work(struct eval *e, size_t bytes);
enum { NODE_BYTES = 64 };
void handler_push(struct eval *e, struct handler *h);
void handler_pop(struct eval *e, struct handler *h);
/* Raises an existing exception, for example one that a handler caught. */
_Noreturn void eval_throw(struct eval *e, const struct exception *x);
/* Writes n bytes of text to the output of the host's `print`. */
void eval_write(struct eval *e, const char *s, size_t n);

/* -- kernel.c -- */
/* Executes one statement of a kernel, and returns its flow as eval_block does. An error aborts the statement;
 * the names that the statement assigns then have the value obj_error. */
enum flow kernel_statement(struct eval *e, struct scope *s, const struct ast *x, struct obj **result);

/* -- trace.c, loops.c: the kernel's rules -- */
/* Traces a kernel: adds its IR function to module m. The function's tiles have no layouts yet (DEGREE_traced,
 * ir/ir.h). Returns NULL after errors, which it reports to diag. */
struct func *frontend_trace(struct eval *e, struct obj *jit, struct spec *spec, struct module *m);
/* Returns the location of ops and errors that are created for code at `at`, including the chain of inlined
 * calls. If the code is in the prelude, returns the location of the user's call of the prelude. */
struct loc trace_loc(const struct eval *e, struct loc at);
bool trace_is_tensor(const struct obj *x); /* returns whether x is a tensor, or a tuple that contains a tensor */
/* The evaluator calls the following functions if e->trace is set: kernels have other rules than plain Python
 * for these statements, names and operators. */
enum flow trace_if(struct eval *e, struct scope *s, const struct ast *stmt, struct obj *cond, struct obj **result);
enum flow trace_for(struct eval *e, struct scope *s, const struct ast *stmt, struct obj **result);
enum flow trace_while(struct eval *e, struct scope *s, const struct ast *stmt, struct obj **result);
/* Traces an assignment. annotated_constexpr means that the statement is `x: tl.constexpr = value`. If value
 * is NULL, the statement is `x: tl.constexpr` without a value; the value of a later assignment to x is then a
 * constexpr. */
void trace_assign(struct eval *e, struct scope *s, const struct ast *target, struct obj *value,
                  bool annotated_constexpr);
struct obj *trace_name(struct eval *e, struct scope *s, const struct ast *name);
struct obj *trace_call_jit(struct eval *e, struct obj *callee, const struct args *args);
struct obj *trace_if_expr(struct eval *e, struct scope *s, const struct ast *x, struct obj *cond);
struct obj *trace_bool_op(struct eval *e, struct scope *s, const struct ast *x);
/* region.c: traces the jit function `combine` into block b, the region of a reduction or scan with n
 * operands, and yields the function's n results. The block has 2n scalar arguments: n arguments of types[0]
 * to types[n - 1], and then n more of the same types. Returns false after an error, which it reports. */
bool trace_region(struct eval *e, struct obj *combine, struct block *b, int n, const struct lang_type *const *types,
                  struct loc at);
/* Returns a builder that appends ops with this location to the current block. */
struct builder *trace_builder(struct eval *e, struct loc at);

/* -- python.c -- */
/* Parses the n bytes of `text` as an expression, and returns its value in scope s. A syntax error raises
 * SyntaxError. */
struct obj *eval_text(struct eval *e, struct scope *s, const char *text, size_t n, struct loc at);

/* -- hostcall.c: calls of the host by kernels on the interpreter -- */
/* Traces a call that the host executes. Returns NULL if the callee is not a host function. */
struct obj *trace_call_host(struct eval *e, struct obj *callee, const struct args *args);
/* Evaluates an f-string in a kernel. Returns a str, or an object whose text is computed when the kernel runs. */
struct obj *trace_fstring(struct eval *e, struct scope *s, const struct ast *x);
/* Returns the condition of `if x`. If x is the result of a host function, the condition is a tensor that
 * contains bool(x); otherwise, the condition is x itself. */
struct obj *trace_truth(struct eval *e, struct obj *x, struct loc at);
/* Records that the call at this location is a whole statement. The program does not use the result of such a
 * call. */
void trace_drop_result(struct eval *e, struct loc call);
/* Adds a site before a statement of scope s, so that a debugger can stop there. */
void trace_statement(struct eval *e, struct scope *s, struct loc at);
/* Executes the host_call op of this site. values[i] points to the value of operand i, laid out as struct tile
 * describes (trace/tile.h). Stores the op's result in `result`: the address of an object (SITE_call), one
 * byte (SITE_truth), or four bytes (SITE_int, SITE_float). May raise exceptions, like any host code. */
void host_site_run(struct eval *e, const struct host_site *site, const char *const *values, char *result);
/* Returns a scope with the variables that a function has at the site. The variables are concrete objects,
 * made from `values` (see host_site_run). If `up` is 0, the function is the site's function; otherwise, it is
 * the caller `up` levels above. */
struct scope *host_site_scope(struct eval *e, const struct host_site *site, const char *const *values, int up);
/* Returns the site if `up` is 0; otherwise, returns its caller `up` levels above. The operands of the
 * host_call op contain the variables of all these functions. Sets *first to the index of the operand at which
 * the variables of the returned site's function begin. */
const struct host_site *host_site_frame(struct eval *e, const struct host_site *site, int up, int *first);

/* -- expression.c: the debugger's expressions -- */
struct expression {
    const struct ast *tree;
    struct func *func; /* its parameters are the kernel's parameters, and then one parameter for each IR value
                        * of the frame's variables */
    int first;         /* the index of the first operand of the site's host_call op that belongs to a variable
                        * of the frame */
    struct spec spec;  /* its last site gets the expression's result (host_site_result); its other sites are
                        * the expression's calls of the host */
};
/* Parses an expression, and traces it into a function that computes it from the variables of a frame. A frame
 * is the call of one function: the site's function if `up` is 0, otherwise its caller `up` levels above.
 * Reports errors to diag, or raises an exception. If the text is valid Python, sets x->tree even after an
 * error. The caller can then evaluate the expression as host code, because it may contain code that kernels
 * do not allow. */
void frontend_trace_expression(struct eval *e, const struct host_site *site, int up, const struct func *kernel,
                               const struct spec *spec, const char *text, struct expression *x);
/* Returns the result of an expression. `site` is the expression's last site. */
struct obj *host_site_result(struct eval *e, const struct host_site *site, const char *const *values);

/* -- promote.c, cast.c, shape.c: operators on tensors -- */
/* Converts a number to a tensor of its decayed_type (trace.h), and the items of a tuple or list likewise.
 * Returns a tensor, a block pointer, a descriptor, a type, None and obj_error unchanged. Reports an error for
 * any other x, and returns obj_error. */
struct obj *to_tensor(struct eval *e, struct obj *x, struct loc at);
struct obj *tensor_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
struct obj *tensor_unary(struct eval *e, enum oper op, struct obj *a, struct loc at);
struct obj *tensor_compare(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);
struct obj *tensor_broadcast_to(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at);
/* tensor_broadcast broadcasts *a and *b to one shape. tensor_promote also converts both to a common type;
 * is_division means that the operator is a division. After an error, which these functions report, *a and *b
 * are obj_error. */
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
/* Returns whether two block pointers, or two descriptors, have the same type in Triton's language, except for
 * the integer types of their sizes, strides and offsets. The caller has checked that x and `with` are both
 * block pointers or both descriptors. */
bool box_agrees(struct eval *e, const struct obj *x, const struct obj *with);
/* Returns a copy of the block pointer or descriptor x. In the copy, each size, stride and offset whose type
 * differs between x and `with` is converted to 64 bits. */
struct obj *box_widen(struct eval *e, struct obj *x, const struct obj *with, struct loc at);
/* Converts x, an argument of a launch, to a tuple. The kernel gets the items of the tuple as separate
 * arguments. x may be a tuple, a named tuple, or a tensor descriptor of the host. Returns NULL for any other
 * x. */
struct obj *argument_parts(struct eval *e, struct obj *x);
/* Returns the field name of item i of a tuple that argument_parts returned; NULL if the item has no name. */
const char *argument_part_name(struct eval *e, const struct obj *parts, int i);
/* Returns a tuple that represents a descriptor. The fields are, in this order: base, shape, strides,
 * block_shape, padding. */
struct obj *descriptor_new(struct eval *e, struct obj *const *fields);
/* Checks that the tuple x, which a launch passes as a descriptor, has a descriptor's fields. Returns false after an
 * error, which it reports. */
bool check_descriptor(struct eval *e, const struct obj *x, struct loc at);

/* -- builtins.c: triton, triton.language and their submodules as modules of builtins -- */
struct obj *builtins_module(struct eval *e, const char *dotted_name); /* NULL for any other module */
/* Prints every builtin with its parameters, one builtin per line, for `neso help language`. */
void builtins_help(struct text *out);
/* Returns a scope with the names of all functions and types of a module of builtins, in which "did you mean"
 * hints search. */
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

/* -- prelude.py, libdevice.py, library.py: the parts of triton.language, of its libdevice and of Python's
 * library that are written in Python -- */
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
/* Returns the location in the user's code that a message about `at` shows. If `at` is unknown, uses the
 * location of the latest statement instead. */
struct loc eval_place(const struct eval *e, struct loc at);
/* If the location is in the user's code, returns it unchanged. If it is in neso's own Python code
 * (prelude.py, libdevice.py, library.py), returns the location of the user's call that led there. */
struct loc eval_outside(const struct eval *e, struct loc at);

#endif
