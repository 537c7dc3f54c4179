/* SPDX-License-Identifier: MIT */
/* debugger.h: the interface of the debugger. */
#ifndef NESO_RUNTIME_DEBUGGER_H
#define NESO_RUNTIME_DEBUGGER_H

#include "frontend/frontend.h"
#include "runtime/devices/device.h"

struct program;

enum { POINTS_MOST = 32, CONDITION_MOST = 120 };

/* A breakpoint that was set at the prompt. */
struct point {
    int number, line;
    uint16_t file;
    bool is_temporary;
    char condition[CONDITION_MOST]; /* "": none */
    struct map traced; /* the traced forms of the condition (struct expression *), one for each site (struct
                        * host_site *) at which the condition was evaluated */
};

struct debugger {
    const char *asked; /* the breakpoint of --break, FILE:LINE[@pid]; NULL: there is none */
    size_t file_bytes; /* the length of FILE in `asked` */
    int line, pid[3];  /* the line and program id of this breakpoint */
    bool has_pid; /* `pid` is valid: --break contains it, or it is the id of the first program that has
                   * reached the breakpoint */
    bool was_reached;
    /* STEP_into: stop at the next statement. STEP_over: stop at the next statement whose call depth is at
     * most `depth`, or that a program other than step_pid executes. */
    enum { STEP_none, STEP_into, STEP_over } step;
    int depth, step_pid[3]; /* the call depth and program id of the statement at which the step began */
    const char *last; /* the command that an empty line repeats; NULL: none */
    uint32_t listed;  /* the last line that `list` has shown at this stop; 0: none */
    bool finds_nan;   /* stop at an op that makes a NaN of operands without NaNs */
    VEC(const struct op *) nans; /* the ops at which the kernel has stopped because they made a NaN; it does
                                  * not stop at them again */
    int npoints; /* the number of breakpoints that exist now */
    int nset;    /* the number of breakpoints that were ever set, and the `number` of the newest one */
    struct point points[POINTS_MOST];
};

/* A program that has reached a site: a point of the kernel, usually before a statement, at which the
 * interpreter calls the host. */
struct stop {
    const struct host_site *site;
    const struct host_call *call;
    const struct call_record *outside; /* the active calls of host code that led to the launch */
    const char *kernel;
    const struct launch *launch; /* has the kernel's arguments and their tensors */
    const struct func *func;     /* has the names of the kernel's arguments */
    const struct spec *spec;     /* the specialization of the kernel */
};

/* Parses `where`, the argument of --break, which may be NULL. Returns false if `where` is malformed. */
bool debugger_open(struct debugger *d, const char *where);
/* Returns whether the kernel may have to stop at the site. Does not evaluate the conditions of breakpoints:
 * assumes that all are true. */
bool debugger_stops(struct program *p, const struct host_site *site, const int *pid);
/* Returns at once if the kernel need not stop at this site, for example because the conditions of all
 * breakpoints there are false. Otherwise, reads and executes commands until a command continues the kernel.
 * Raises SystemExit at `quit` and at the end of the input. */
void debugger_prompt(struct program *p, struct eval *e, const struct stop *stop);
/* Like debugger_prompt, but for an op that has made a NaN (host_call.nan_at). Returns at once if this op has already
 * stopped the kernel. */
void debugger_nan(struct program *p, struct eval *e, const struct stop *stop);

/* -- evaluate.c -- */
/* Evaluates the expression `text` in the frame that is `up` calls above the site. If the evaluation fails,
 * returns NULL and appends the reason to `why`. If `traced` is not NULL, it must be a map for this expression
 * only. The map keeps the expression as traced at each site, so that a later evaluation at the same site need
 * not trace the expression again. */
struct obj *debugger_evaluate(struct program *p, struct eval *e, const struct stop *stop, int up, const char *text,
                              struct map *traced, struct text *why);

#endif
