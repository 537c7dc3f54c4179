/* SPDX-License-Identifier: MIT */
/* padded_maps.c: makes tensor maps for arrays whose row pitch is not a multiple of 16 bytes. A tensor map cannot
 * describe such an array, so the launcher first copies it to a workspace with padded rows.
 *
 *     A: 4101 x 4101 f16, rows 8202 bytes apart ──copy_rows──► workspace: rows 8320 bytes apart ◄── tensor map
 *
 * With the copy, the launch can use the code for aligned rows, which has a pipeline, a producer warp and
 * wgmma. Without the copy, the launch would use the fallback, which loads only 2 bytes at once. Copying takes
 * little time: it reads and writes each byte once, but in a matmul, the kernel loads each byte once for each
 * tile of the other operand. The copy lacks the kernel's own writes to the array. The kernel may read the
 * copy nevertheless, because a kernel never uses a map to read data that it has written itself
 * (raise_tma_load.c ensures this). An array to which the kernel stores through a map is not copied, because
 * the stores would go to the copy.
 *
 * The array must have two dimensions and known bounds, its rows must not overlap, and its bytes must belong to one
 * allocation, because the copy also reads elements that this grid does not read. Copying must save more time
 * than it takes. So is_swept estimates how many times the grid loads each element. This number must be at
 * least launch_pad_sweeps if the fallback could copy 8 bytes at once (row_alignment.c), half of
 * launch_pad_sweeps if it could copy 4 bytes at once, and 1 if it could copy only fewer bytes at once. */
#include "runtime/runtime.h"

#include <stdatomic.h>

/* The size of a cache line in bytes. Rows of copies begin at multiples of PAD. */
enum { PAD = 128 };

/* Describes how to copy the array that v describes to address `at` in the workspace. */
static struct row_copy copy_of(const struct tensor_map_values *v, uint64_t at)
{
    enum { ROW, COLUMN };
    struct row_copy c = {.to = at,
                         .from = v->base,
                         .from_pitch = v->strides[ROW],
                         .rows = v->extents[ROW],
                         .bytes = v->extents[COLUMN] * v->strides[COLUMN]};
    c.to_pitch = (c.bytes + PAD - 1) / PAD * PAD;
    return c;
}

static bool is_in_one_allocation(struct device *d, const struct row_copy *c)
{
    uint64_t base, bytes;
    return d->class->extent(d, c->from, &base, &bytes) &&
           c->from - base + (c->rows - 1) * c->from_pitch + c->bytes <= bytes;
}

/* Returns whether the programs of the grid load the array so often that copying it saves time. Assumes that
 * each program loads one strip of tiles along the whole longer side of the array. Under this assumption, n
 * programs together load each element exactly once, where n is the number of tiles along the shorter side. If
 * rows are not aligned (`rows` is ROWS_any), a tile is assumed to consist of BOXES_OF_A_TILE boxes of the
 * tensor map along the shorter side, otherwise of one box. */
static bool is_swept(const struct neso_kernel *k, const struct tensor_map_values *v, const struct launch *l,
                     enum rows rows)
{
    enum {
        BOXES_OF_A_TILE = 4
    }; /* the maximum number of boxes of a tile along a dimension: 256 elements of 2 bytes, in boxes of 128
        * bytes (the swizzle) */
    uint64_t programs = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], least = UINT64_MAX;
    for (int d = 0; d < v->rank; d++) {
        uint64_t boxes = (v->extents[d] - 1) / (uint64_t)v->box[d] + 1;
        least = boxes < least ? boxes : least;
    }
    const uint64_t wanted = least * (uint64_t)k->thresholds.launch_pad_sweeps;
    return rows ? programs * (rows == ROWS_of_4_bytes ? 2 : 1) >= wanted
                : BOXES_OF_A_TILE * programs >= least;
}

static bool can_copy(struct neso_kernel *k, const struct tensor_map_values *v, const struct launch *l,
                     enum rows rows)
{
    const uint64_t most = (uint64_t)k->thresholds.launch_pad_mib_most << 20;
    if (v->rank != 2)
        return false;
    const struct row_copy c = copy_of(v, 0);
    return c.bytes <= c.from_pitch && c.to_pitch <= most / c.rows && is_swept(k, v, l, rows) &&
           is_in_one_allocation(k->device, &c);
}

/* Returns the size in bytes of the workspace for all copies; 0 if no array needs a copy, if an array that needs a copy
 * cannot be copied, or if a guard fails. Sets v to the values of all maps. */
static uint64_t plan_copies(struct neso_kernel *k, const struct ptx_info *info, const struct launch *l,
                            struct tensor_map_values *v)
{
    int64_t args[LAUNCH_PARAMS_MOST];
    uint64_t bytes = 0;
    if (!plan_guards(info, l, args))
        return 0;
    enum rows rows = ROWS_count; /* not known yet */
    for (int i = 0; i < info->nmaps; i++) {
        if (!tensor_map_values(&info->maps[i], args, l->grid, &v[i]))
            return 0;
        if (tensor_map_is_aligned(&v[i]))
            continue;
        rows = rows < ROWS_count ? rows : rows_of_launch(k, l);
        if (info->stored_maps >> i & 1 || !can_copy(k, &v[i], l, rows))
            return 0;
        const struct row_copy c = copy_of(&v[i], 0);
        bytes += c.to_pitch * c.rows;
    }
    return bytes;
}

bool padded_maps(struct neso_kernel *k, const struct ptx_info *info, const struct launch *l, map_words *maps,
                 uint64_t *workspace)
{
    struct tensor_map_values v[MAPS_MOST];
    struct device *d = k->device;
    struct row_copy copies[MAPS_MOST];
    int ncopies = 0;
    struct fault ignored;
    *workspace = 0;
    if (!d->class->workspace || info->nmaps > MAPS_MOST)
        return false;
    uint64_t bytes = plan_copies(k, info, l, v), at;
    if (!bytes || !d->class->workspace(d, (size_t)bytes, l->stream, workspace, &ignored))
        return false;
    at = *workspace;
    for (int i = 0; i < info->nmaps; i++)
        if (!tensor_map_is_aligned(&v[i])) {
            const struct row_copy c = copies[ncopies++] = copy_of(&v[i], at);
            v[i].base = c.to;
            v[i].strides[0] = c.to_pitch;
            at += c.to_pitch * c.rows;
        }
    if (!k->has_copied && !atomic_exchange(&k->has_copied, true))
        context_event(k->module->context, NESO_EVENT_COPIES,
                      "%s copies %d matrices, whose rows are no multiples of %d bytes apart",
                      neso_kernel_id(k), ncopies, MAP_ALIGN);
    bool good = d->class->copy_rows(d, copies, ncopies, l->stream, &ignored);
    for (int i = 0; i < info->nmaps; i++)
        good = good && d->class->encode(d, &v[i], maps[i]);
    if (!good) {
        d->class->workspace_end(d, *workspace, l->stream);
        *workspace = 0;
    }
    return good;
}
