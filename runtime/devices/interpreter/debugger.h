/* debugger.h: how kernels stop on the interpreter, for specialize.c, program.c and debugger.c. */
#ifndef NESO_RUNTIME_DEBUGGER_H
#define NESO_RUNTIME_DEBUGGER_H

#include "frontend/frontend.h"
#include "runtime/devices/device.h"

struct program;

struct debugger {
    const char *asked; /* FILE:LINE[@pid]; NULL: there is no breakpoint */
    size_t file_bytes; /* length of FILE in it */
    int line, pid[3];
    bool has_pid; /* pid was given, or is that of the first program that came */
    bool was_reached;
    bool stepping; /* the next statement stops */
};

/* A program of a kernel at a site. */
struct stop {
    const struct host_site *site;
    const struct host_call *call;
    const struct call_record *outside; /* the calls from host code to the site */
    const char *kernel;
};

/* Returns false if `where` is malformed. */
bool debugger_open(struct debugger *d, const char *where);
bool debugger_stops(struct program *p, const struct host_site *site, const int *pid);
/* Executes commands until the kernel continues; raises SystemExit at `quit` and at the end of the input. */
void debugger_prompt(struct program *p, struct eval *e, const struct stop *stop);

#endif
