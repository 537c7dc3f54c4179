/* debugger.h: stopping kernels on the interpreter; between specialize.c, program.c and debugger.c. */
#ifndef NESO_RUNTIME_DEBUGGER_H
#define NESO_RUNTIME_DEBUGGER_H

#include "frontend/frontend.h"
#include "runtime/devices/device.h"

struct program;

struct debugger {
    const char *asked; /* FILE:LINE[@pid]; NULL: no breakpoint was asked for */
    size_t file_bytes; /* of FILE in it */
    int line, pid[3];
    bool has_pid; /* given, or that of the first program that came */
    bool was_reached;
    bool stepping; /* the next statement stops */
};

/* A program of a kernel at a site. */
struct stop {
    const struct host_site *site;
    const struct host_call *call;
    const struct call_record *outside; /* the calls that lead to the site */
    const char *kernel;
};

/* False: `where` is no place. */
bool debugger_open(struct debugger *d, const char *where);
bool debugger_stops(struct program *p, const struct host_site *site, const int *pid);
/* Asks until the kernel is to go on; raises SystemExit at `quit` and at the end of the input. */
void debugger_prompt(struct program *p, struct eval *e, const struct stop *stop);

#endif
