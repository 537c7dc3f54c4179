/* SPDX-License-Identifier: MIT */
/* fake.h: declares the interface that the fake driver (cuda.c) offers to tests, its symbol `fake`. */
#ifndef FAKE_H
#define FAKE_H

struct fake {
    long until;          /* the call to refuse, counted from now: 1 is the next call; 0: none */
    const char *refused; /* the name of the refused call */
    long held;           /* the number of contexts, memory blocks, modules, links and events that are not released */
};

#endif
