/* SPDX-License-Identifier: MIT */
/* bundle.h: declares the functions on bundles. A bundle is a file with compiled kernels and choices of
 * autotuning. A context that uses a bundle compiles nothing. bundle.c describes the format. */
#ifndef NESO_RUNTIME_BUNDLE_H
#define NESO_RUNTIME_BUNDLE_H

#include "ir/support/diag.h"
#include "opt/variants.h"
#include "runtime/neso.h"

struct neso_kernel;
struct neso_module;
struct ptx_info;

struct bundle_entry {
    const char *key;     /* the fields, one on each line (cache.h); ends with a zero byte */
    const char *payload; /* ends with a newline */
    size_t payload_bytes;
};

/* The bundle that a context uses and owns. If `text` is NULL, the context uses no bundle. */
struct bundle {
    char *text, *name;
    size_t text_bytes, name_bytes;
    struct bundle_entry *entries;
    int nentries;
};

void bundle_close(struct bundle *b, const struct memory *mem);

/* The following functions must be called inside guard. */

/* Appends the record of k: the fields that identify k, and the name of k's source file. f is the traced IR, before
 * any pass. */
void bundle_record(struct neso_kernel *k, const struct func *f, struct text *out);
/* Appends a bundle whose only kernel is k. The PTX of k must exist. */
void bundle_write(struct neso_kernel *k, const struct func *f, struct text *out);
/* Sets k's PTX and launch plan from the context's bundle; f is the traced IR. If the bundle has no entry for k,
 * reports an error that shows which fields of k's key differ from the key of the most similar entry. */
void bundle_take(struct neso_kernel *k, const struct func *f);
/* Like bundle_take, for a kernel of neso_module_from_bundle. Such a kernel has no source, so k->name and
 * k->options select the entry. */
void bundle_find(struct neso_kernel *k);
/* Appends the signatures that the bundle has for k's name and options, one on each line. */
void bundle_signatures(struct neso_kernel *k, struct text *out);
/* Returns name number `index` (from 0) in the list of the names of the bundle's kernels; NULL past the end.
 * The list has each name once. */
const char *bundle_kernel(const struct neso_module *m, size_t index);
/* Returns the choice of autotuning (*length bytes) that the context's bundle has for a key (see host/tune.c). If
 * there is none, reports an error and returns NULL. */
const char *bundle_choice(struct neso_module *m, const char *key, size_t *length);
/* Appends the record of a choice of autotuning for a key. */
void bundle_choice_record(const char *key, const char *choice, struct text *out);

/* Reads the variant `which` of k, a kernel that was read from a bundle: sets `ptx` and `info`, in the arena
 * a. Returns false if the bundle lacks the variant. Any thread may call this function, outside guard. */
bool bundle_variant(const struct neso_kernel *k, enum variant which, struct arena *a, struct text *ptx, struct ptx_info *info);

#endif
