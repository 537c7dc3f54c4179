/* SPDX-License-Identifier: MIT */
/* fake.h: the interface of the driver without a GPU (cuda.c) for tests, as its symbol `fake`. */
#ifndef FAKE_H
#define FAKE_H

struct fake {
    long until;          /* this many calls from now one is refused; 0: none is */
    const char *refused; /* the one */
    long held;           /* contexts, memory, modules, links and events that were not given back */
};

#endif
