/* SPDX-License-Identifier: MIT */
/* proof.h: what holds for every launch of a traced kernel: which part of a tensor each access reaches, and whether two
 * programs can meet there (proof.c). */
#ifndef NESO_OPT_PROOF_H
#define NESO_OPT_PROOF_H

#include "opt/analysis/affine.h"

/* A dimension of an access: its index counts from 0 to `last`, `stride` elements apart. */
struct proof_dim {
    struct expr stride, last;
};

/* Where a program's elements lie: at place + `first` to place + `last`, where place is the sum of the scalars that differ
 * between programs, each times its factor. */
struct proof_window {
    const char *unknown; /* why there is no such place; NULL: there is one */
    struct poly place;
    struct expr first, last;
    struct guards guards;
    struct proof_dim scalars[ACCESS_DIMS_MOST]; /* stride: the factor; last: the scalar's maximum */
    int n;
};

struct proof {
    const struct op *op;
    int base;         /* the parameter from which the address starts; -1: unknown */
    bool reads, writes, is_atomic;
    /* NULL: the access reaches elements `first` to `last` of the tensor, if all guards are at least 0. Otherwise the
     * reason why no such elements are known. */
    const char *unbounded;
    struct expr first, last;
    struct guards guards;
    /* NULL: two programs never access one element, if the dimensions nest (each stride is at least the next smaller one
     * times the number of its indices) and all guards `apart` are at least 0. Otherwise the reason why that is not known. */
    const char *shared;
    struct proof_dim dims[ACCESS_DIMS_MOST];
    int ndims;
    struct guards apart;
    struct proof_window window;
    struct guards window_apart; /* distinct places belong to distinct programs, if these guards are at least 0 */
    int like; /* of a load: the number of a store with the same address; -1: none */
};

struct proofs {
    struct proof *at;
    int n, cap;
    bool has_other_writes; /* inline assembly or a function of the host may write memory */
};

/* Proves what it can of each load, store and atomic of f, which must be a traced function after fold, cse and licm;
 * allocates in f->module->arena. */
void prove_accesses(struct func *f, struct proofs *out);

#endif
