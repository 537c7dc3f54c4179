/* SPDX-License-Identifier: MIT */
/* fake.h: the interface of the driver without a GPU (cuda.c) for tests, as its symbol `fake`. */
#ifndef FAKE_H
#define FAKE_H

struct fake {
    long until;          /* the call to refuse: 1 is the next one; 0: none */
    const char *refused; /* the name of the refused call */
    long held;           /* the number of contexts, memory blocks, modules, links and events that are not released */
};

#endif
