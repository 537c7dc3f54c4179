/* SPDX-License-Identifier: MIT */
/* trace.h: shadows of floats. A shadow is the additional information that the interpreter keeps about a float.
 *
 *     value 0.0625    exact 0.06249987       the result in f64, without the intermediate roundings
 *                     err   3e-8             a bound of the distance to results of another order or rounding
 *                     birth 2                the op at which a NaN, an inf or a loss of precision began
 *
 * A launch with a struct float_trace runs on one thread. The kinds of traces are:
 *
 *     nan          a store of a NaN or inf that an op has made, or of a NaN that was loaded, ends the launch
 *     precision    for each op at which a loss of precision began, counts the stored values that have lost
 *                  more than float_trace.bits bits
 *     error        records `err` of each stored float; the caller compares the results with the results of
 *                  another device, with the tolerance `err` */
#ifndef NESO_RUNTIME_TRACE_H
#define NESO_RUNTIME_TRACE_H

#include "ir/ir.h"

struct shadow {
    double exact, err;
    uint32_t birth;    /* 1 + the index in float_trace.births; 0: the value has no birth */
    /* the smallest number of significant bits to which the program has rounded the value by a conversion or a
     * TF32 dot; 0: it has not rounded the value */
    uint8_t precision;
    /* For a dot's result, in a trace of kind `error`: the absolute values of the terms of the sum add up to
     * less than 2^magnitude, and all terms are multiples of 2^lowest. */
    int8_t magnitude;
    int16_t lowest;
};

enum trace_kind { TRACE_nan = 1, TRACE_precision, TRACE_error };

/* A birth: an op at which NaNs, infs or losses of precision began. `count` is the number of stored values
 * whose loss of precision began at this op. `text` explains one value of the op. */
struct trace_birth {
    const struct op *op;
    int pid[3];
    long long count;
    double worst; /* the largest number of lost bits */
    char text[560];
};

/* An element that the launch has stored to memory. */
struct trace_cell {
    uint64_t at; /* the element's address; 0: the cell is free */
    struct shadow shadow;
    uint64_t bits;
    uint32_t store; /* the value of nstores at the store */
    int32_t lane;   /* the index of the element in the stored tile; -1: an atomic stored it */
    enum dtype dtype;
};

enum { BIRTHS_MOST = 48 };

struct float_trace {
    enum trace_kind kind;
    int bits; /* for kind `precision`: the number of low bits that a value may lose; 0: half of the
               * significant bits of its type */
    const struct memory *mem;
    struct trace_cell *cells; /* a hash table; only for kind error */
    size_t ncells, room;
    uint32_t nstores; /* the number of stores and atomics executed */
    uint32_t ordered; /* the value of nstores at the last barrier of the program, or at its start */
    bool refuses_reads; /* true: a load of an element that the launch has stored makes the launch uncertain */
    bool no_memory;
    /* The launch is uncertain if another rounding or order could change the result of a comparison, a conversion to
     * integers, an atomic, or a second store to an element. The launch is also uncertain if refuses_reads is set and a
     * load has read an element that the launch has stored. */
    bool is_uncertain;
    struct loc uncertain_at;
    struct trace_birth births[BIRTHS_MOST];
    int nbirths;
};

/* A float type: the number of bits of its significand, the exponent of its least normal number, and its largest
 * number. */
struct trace_format {
    int bits, least;
    double most;
};
const struct trace_format *trace_format(enum dtype t);

void trace_init(struct float_trace *t, enum trace_kind kind, int bits, const struct memory *mem);
void trace_free(struct float_trace *t);
/* Returns the element that the launch has stored last at an address; NULL if there is none. */
const struct trace_cell *trace_cell_at(const struct float_trace *t, uint64_t at);

#endif
