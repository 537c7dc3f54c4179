/* SPDX-License-Identifier: MIT */
/* debugger.h: the interface of the debugger of kernels on the interpreter. */
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
    struct map traced;              /* maps sites (struct host_site *) to the traced condition, struct expression * */
};

struct debugger {
    const char *asked; /* the breakpoint of --break, FILE:LINE[@pid]; NULL: there is none */
    size_t file_bytes; /* the length of FILE in `asked` */
    int line, pid[3];
    bool has_pid; /* pid is valid: it was given, or it is that of the first program to reach the breakpoint */
    bool was_reached;
    /* STEP_into: stop at the next statement. STEP_over: stop at the next statement that is not inside a deeper call,
     * or at the next one of another program. */
    enum { STEP_none, STEP_into, STEP_over } step;
    int depth, step_pid[3]; /* the call depth and program id of the statement at which the step began */
    const char *last; /* the command that an empty line repeats; NULL: none */
    uint32_t listed;  /* the last line that `list` has shown since the stop; 0: none */
    bool finds_nan;   /* stop where a value first becomes a NaN */
    VEC(const struct op *) nans; /* the ops at which a value has become a NaN: each stops once */
    int npoints; /* breakpoints that exist now */
    int nset;    /* the number of breakpoints that were ever set, which is also the number that the newest one has */
    struct point points[POINTS_MOST];
};

/* A program that has reached a site. */
struct stop {
    const struct host_site *site;
    const struct host_call *call;
    const struct call_record *outside; /* the calls from host code to the site */
    const char *kernel;
    const struct launch *launch; /* for the kernel's arguments and their tensors */
    const struct func *func;     /* for the names of the kernel's arguments */
    const struct spec *spec;     /* of the kernel */
};

/* Parses `where`, which may be NULL; returns false if it is malformed. */
bool debugger_open(struct debugger *d, const char *where);
/* May the kernel stop at the site? Conditions of breakpoints are not evaluated here. */
bool debugger_stops(struct program *p, const struct host_site *site, const int *pid);
/* Returns at once if conditions of breakpoints say that the kernel does not stop here. Otherwise executes commands
 * until one continues the kernel; raises SystemExit at `quit` and at the end of the input. */
void debugger_prompt(struct program *p, struct eval *e, const struct stop *stop);
/* The same where a value has become a NaN (host_call.nan_at), if no value has become one at that op before. */
void debugger_nan(struct program *p, struct eval *e, const struct stop *stop);

/* -- evaluate.c -- */
/* Evaluates an expression in the frame `up` calls above the site. If that fails, returns NULL and appends the reason to
 * `why`. `traced`: keeps the traced expression of each site for the next time; NULL: traces it anew. */
struct obj *debugger_evaluate(struct program *p, struct eval *e, const struct stop *stop, int up, const char *text,
                              struct map *traced, struct text *why);

#endif
