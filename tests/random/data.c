/* SPDX-License-Identifier: MIT */
/* data.c: fills memory before a launch and compares it afterwards. This is the only file of the folder that includes
 * the compiler's ir.h, for the functions that convert numbers to bits. */
#include "ir/ir.h"
#include "tests/random/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const enum dtype dtypes[EL_count] = {[EL_f16] = DT_f16, [EL_bf16] = DT_bf16, [EL_f32] = DT_f32,
                                            [EL_f64] = DT_f64, [EL_f8e4] = DT_f8e4, [EL_f8e5] = DT_f8e5};

static bool is_floating(enum elem e)
{
    return (elem_info[e].class & (FLOAT | SMALL)) != 0;
}

static double scaled(double x, int exponent)
{
    for (; exponent > 0; exponent--)
        x *= 2;
    for (; exponent < 0; exponent++)
        x /= 2;
    return x;
}

static uint64_t element_of(const struct buffer *b, int64_t i)
{
    if (b->role == ROLE_output)
        return is_floating(b->elem) ? double_to_bits(dtypes[b->elem], 3) : b->elem == EL_i1 ? 1 : 3;
    int64_t x = (i * b->a + b->b) % 65521 * b->c % b->modulus - b->minus;
    return is_floating(b->elem) ? double_to_bits(dtypes[b->elem], scaled((double)x, b->scale)) : (uint64_t)x;
}

void program_fill(const struct program *p, unsigned char *memory)
{
    for (int i = 0; i < p->nbuffers; i++) {
        const struct buffer *b = p->buffers[i];
        int bytes = elem_bytes(b->elem);
        for (int64_t k = -b->skew; k < b->count; k++) {
            uint64_t x = element_of(b, k + b->skew);
            memcpy(memory + b->offset + k * bytes, &x, (size_t)bytes);
        }
    }
}

static bool same(enum elem e, uint64_t want, uint64_t got)
{
    if (want == got || !is_floating(e))
        return want == got;
    double x = bits_to_double(dtypes[e], want), y = bits_to_double(dtypes[e], got);
    return x == y || (x != x && y != y);
}

static uint64_t bits_at(const struct buffer *b, const unsigned char *memory, int64_t i)
{
    uint64_t x = 0;
    memcpy(&x, memory + b->offset + i * elem_bytes(b->elem), (size_t)elem_bytes(b->elem));
    return x;
}

static void note(struct expectation *x, const struct buffer *b, int64_t i, uint64_t bits)
{
    if (!x || x->n == (int)(sizeof x->at / sizeof *x->at))
        return;
    int unused = 64 - 8 * elem_bytes(b->elem);
    x->at[x->n].buffer = b;
    x->at[x->n].index = i;
    x->at[x->n].number = is_floating(b->elem) ? bits_to_double(dtypes[b->elem], bits) : 0;
    x->at[x->n++].bits =
        elem_info[b->elem].class == SIGNED ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

static void in_words(const struct buffer *b, int64_t i, uint64_t want, uint64_t got, char *text, size_t room)
{
    if (is_floating(b->elem))
        snprintf(text, room, "%s[%" PRId64 "] is %.17g, expected %.17g", b->name, i,
                 bits_to_double(dtypes[b->elem], got), bits_to_double(dtypes[b->elem], want));
    else
        snprintf(text, room, "%s[%" PRId64 "] is 0x%" PRIx64 ", expected 0x%" PRIx64, b->name, i, got, want);
}

bool program_compare(const struct program *p, const unsigned char *want, const unsigned char *got,
                     int64_t bytes, struct expectation *x, char *text, size_t room)
{
    int ndiffer = 0;
    if (memcmp(want, got, (size_t)bytes) == 0)
        return true;
    for (int i = 0; i < p->nbuffers; i++) {
        const struct buffer *b = p->buffers[i];
        for (int64_t k = 0, n = 0; k < b->count; k++) {
            uint64_t w = bits_at(b, want, k), f = bits_at(b, got, k);
            bool equal = same(b->elem, w, f);
            if (!equal && ndiffer++ == 0)
                in_words(b, k, w, f, text, room);
            if (b->role != ROLE_input && n < 6 && (!equal || k < 2))
                note(x, b, k, w), n++;
        }
    }
    if (ndiffer > 1)
        snprintf(text + strlen(text), room - strlen(text), " (and %d more)", ndiffer - 1);
    if (ndiffer)
        return false;
    for (int64_t i = 0; i < bytes; i++) { /* fill the gaps between buffers too */
        bool inside = false;
        for (int k = 0; k < p->nbuffers && want[i] != got[i]; k++) {
            const struct buffer *b = p->buffers[k];
            inside |= i >= b->offset && i < b->offset + b->count * elem_bytes(b->elem);
        }
        if (want[i] != got[i] && !inside) {
            snprintf(text, room, "byte %" PRId64 ", outside of all tensors, was written", i);
            return false;
        }
    }
    return true;
}
