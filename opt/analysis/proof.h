/* SPDX-License-Identifier: MIT */
/* proof.h: declares facts that hold for every launch of a traced kernel: which part of a tensor each access can
 * reach, and whether two programs can access the same element (proof.c). */
#ifndef NESO_OPT_PROOF_H
#define NESO_OPT_PROOF_H

#include "opt/analysis/affine.h"

/* A dimension of an access: its index runs from 0 to `last`, and the elements of neighbouring indices are
 * `stride` elements apart in memory. */
struct proof_dim {
    struct expr stride, last;
};

/* The range of elements that one program reaches through an access: from place + `first` to place + `last`.
 * The place is the part of the address that differs between programs: a sum of scalars, each times a
 * factor. */
struct proof_window {
    const char *unknown; /* the reason why no such range is known; NULL: it is known */
    struct poly place;
    struct expr first, last;
    struct guards guards;                       /* the range is correct only if all guards are at least 0 */
    struct proof_dim scalars[ACCESS_DIMS_MOST]; /* stride: the factor; last: the scalar's maximum */
    int n;                                      /* the number of scalars */
};

struct proof {
    const struct op *op;
    int base;         /* the parameter from which the address starts; -1: unknown */
    bool reads, writes, is_atomic;
    /* NULL: the access reaches no elements of the tensor outside of `first` to `last`, if all of `guards` are
     * at least 0. Not NULL: the reason why no such range is known. */
    const char *unbounded;
    struct expr first, last;
    struct guards guards;
    /* NULL: two programs never access the same element through this access, if (1) all of `apart` are at
     * least 0, and (2) the stride of each dimension in `dims` is at least the next smaller stride times the
     * size of the dimension with that smaller stride. Not NULL: the reason why no such conditions are
     * known. */
    const char *shared;
    struct proof_dim dims[ACCESS_DIMS_MOST];
    int ndims;
    struct guards apart;
    struct proof_window window;
    struct guards window_apart; /* the place determines the program if all of these guards are at least 0 */
    int like; /* of a load: the number in struct proofs of a store with the same address; -1: none */
};

struct proofs {
    struct proof *at;
    int n, cap;
    bool has_other_writes; /* inline assembly or a function of the host may write memory */
};

/* Computes the facts of each load, store and atomic of f. f must be a traced function after fold, cse and licm.
 * Allocates in f->module->arena. */
void prove_accesses(struct func *f, struct proofs *out);

#endif
