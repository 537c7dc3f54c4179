/* SPDX-License-Identifier: MIT */
/* fake.h: declares `fake`, the variable of the fake driver (cuda.c) through which tests control it. */
#ifndef FAKE_H
#define FAKE_H

struct fake {
    long until;          /* the number of the call that fails; the next call has number 1; 0: no call fails */
    const char *refused; /* the name of the call that failed */
    long held;           /* the number of contexts, memory blocks, modules, links and events that are not released */
};

#endif
