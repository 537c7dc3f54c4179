/* SPDX-License-Identifier: MIT */
/* tensormap.h: defines struct packed_map, the contents of a tensor map. A tensor map is a kernel parameter
 * that describes a tensor in global memory, the box that a bulk copy moves, and the swizzle of the box in
 * shared memory. map_pack converts the values of the launch plan (plan.h) to a struct packed_map.
 *
 *     cuda      cuTensorMapEncodeTiled creates the parameter from the struct packed_map
 *     emulator  the struct packed_map, of 128 bytes, is itself the parameter
 *
 * Dimension 0 is contiguous. The limits are those of cuTensorMapEncodeTiled, with one exception: extents are
 * at most 2^31. (The driver accepts extents up to 2^32, but an H200 traps at copies whose maps have extents
 * above 2^31.) The rank is 1 to 5. The base and the strides are multiples of 16 bytes, and strides are less
 * than 2^40 bytes. A box has at most 256 elements in each dimension. The size of a row of the box (dimension
 * 0) is a multiple of 16 bytes; if the map has a swizzle, the row is at most as wide as the swizzle. */
#ifndef NESO_RUNTIME_TENSORMAP_H
#define NESO_RUNTIME_TENSORMAP_H

#include "ir/plan.h"

enum { MAP_MAGIC = 0x4d54534e };
#define MAP_EXTENT_MOST (UINT64_C(1) << 31)

/* Types of elements. A copy of tf32 has type MAP_f32, and a copy of fp8 has type MAP_u8. */
enum map_type {
    MAP_u8,
    MAP_u16,
    MAP_u32,
    MAP_s32,
    MAP_u64,
    MAP_s64,
    MAP_f16,
    MAP_f32,
    MAP_f64,
    MAP_bf16,
    MAP_type_count
};

enum map_swizzle { SWIZZLE_none, SWIZZLE_32, SWIZZLE_64, SWIZZLE_128, SWIZZLE_count };

struct packed_map {
    uint32_t magic; /* MAP_MAGIC */
    uint8_t type;   /* enum map_type */
    uint8_t rank, swizzle;
    uint8_t fills_nan;         /* 1: loads fill elements outside of the tensor with NaN instead of zero */
    uint64_t base;             /* address of element 0 */
    uint64_t extent[MAP_RANK_MAX]; /* sizes of the tensor in elements */
    uint64_t stride[MAP_RANK_MAX - 1]; /* stride[d]: the stride of dimension d + 1, in bytes */
    uint16_t box[MAP_RANK_MAX];        /* sizes of the box in elements */
    uint8_t step[MAP_RANK_MAX];        /* element stride: always 1 */
    uint8_t promote; /* L2 promotion in bytes: 0, 64, 128, or 255 for 256; it does not affect results */
    uint8_t unused[24];
};
_Static_assert(sizeof(struct packed_map) == MAP_BYTES, "as the driver's");

static inline int map_elem_bytes(enum map_type t)
{
    static const uint8_t bytes[MAP_type_count] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
    return bytes[t];
}

/* Converts v, the values of a launch, to *m. Dimension 0 is the outermost in v, and the innermost in m. */
void map_pack(const struct tensor_map_values *v, struct packed_map *m);

#endif
