/* SPDX-License-Identifier: MIT */
/* trace.h: shadows of floats: what the interpreter knows of a float besides its value.
 *
 *     value 0.0625    exact 0.06249987       the result in f64, without the roundings on the way
 *                     err   3e-8             how far a result of another order or rounding may be from the value
 *                     birth 2                the op at which a NaN, an inf or a loss of precision began
 *
 * A launch with a struct float_trace runs on one thread. What its kinds look for:
 *
 *     nan          a store of a NaN or an inf that an op made, or of a NaN that it loaded, ends the launch
 *     precision    stores of results that lost more than `bits` bits, counted for each op at which a loss began
 *     error        nothing; the caller compares memory with what another device computed, within `err` */
#ifndef NESO_RUNTIME_TRACE_H
#define NESO_RUNTIME_TRACE_H

#include "ir/ir.h"

struct shadow {
    double exact, err;
    uint32_t birth;    /* the number of a birth, from 1; 0: none */
    uint8_t precision; /* the least number of significant bits to which the value has been rounded on purpose */
    /* Of a dot's result, for kind error: the sum of the terms' absolute values is below 2^magnitude, and all terms are
     * multiples of 2^lowest. */
    int8_t magnitude;
    int16_t lowest;
};

enum trace_kind { TRACE_nan = 1, TRACE_precision, TRACE_error };

/* An op at which NaNs, infs or losses began, and how many of them reached memory. */
struct trace_birth {
    const struct op *op;
    int pid[3];
    long long count;
    double worst; /* the most bits lost */
    char text[560];
};

/* An element in memory that the launch stored. */
struct trace_cell {
    uint64_t at; /* 0: the cell is free */
    struct shadow shadow;
    uint64_t bits;
    uint32_t store; /* the number of the execution of a store */
    int32_t lane;   /* the element of the stored tile; -1: an atomic */
    enum dtype dtype;
};

enum { BIRTHS_MOST = 48 };

struct float_trace {
    enum trace_kind kind;
    int bits; /* for precision: 0 means half of the bits of each type */
    const struct memory *mem;
    struct trace_cell *cells; /* a hash table; only for kind error */
    size_t ncells, room;
    uint32_t nstores; /* the number of stores and atomics executed */
    uint32_t ordered; /* the value of nstores at the last barrier of the program, or at its start */
    bool refuses_reads; /* a load of what the launch has stored makes the launch uncertain */
    bool no_memory;
    /* With another rounding or order, a comparison, a conversion to integers, an atomic, or a second store to an
     * element could have another result. Or refuses_reads is set, and a load has read what the launch has stored. */
    bool is_uncertain;
    struct loc uncertain_at;
    struct trace_birth births[BIRTHS_MOST];
    int nbirths;
};

/* A float type: bits of its significand, the exponent of its least normal number, its largest number. */
struct trace_format {
    int bits, least;
    double most;
};
const struct trace_format *trace_format(enum dtype t);

void trace_init(struct float_trace *t, enum trace_kind kind, int bits, const struct memory *mem);
void trace_free(struct float_trace *t);
/* The element that the launch stored last at an address; NULL: none. */
const struct trace_cell *trace_cell_at(const struct float_trace *t, uint64_t at);

#endif
