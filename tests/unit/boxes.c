/* SPDX-License-Identifier: MIT */
/* boxes.c: tests which layouts of shared buffers are accepted as destinations of TMA copies. Only the canonical tiles
 * of the hardware must be accepted. */
#include "tests/unit/test.h"

#include "ir/layout/layout.h"

#include <string.h>

static bool boxes(struct boxes *b, const char *layout, int elem_bytes, bool swap)
{
    struct layout l;
    memset(&l, 0, sizeof l);
    CHECK(layout_parse(&l, layout) != NULL);
    return layout_boxes(b, &l, elem_bytes, swap ? (int[]){1, 0} : (int[]){0, 1});
}

TEST(rows_of_128_bytes)
{
    struct boxes b;
    CHECK(boxes(&b, "offset[(0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) (4,32) (8,0) (16,0) (32,0)]",
                2, false));
    CHECK_INT(b.swizzle, 128);
    CHECK_INT(b.shape[0], 64);
    CHECK_INT(b.shape[1], 64);
    CHECK_INT(b.nmore, 0);
}

TEST(two_boxes)
{
    struct boxes b;
    CHECK(boxes(&b, "offset[(0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) (4,32) (8,0) (0,64)]", 2,
                false));
    CHECK_INT(b.swizzle, 128);
    CHECK_INT(b.shape[0], 16);
    CHECK_INT(b.shape[1], 64);
    CHECK_INT(b.nmore, 1);
    CHECK_INT(b.more[0].offset, 1024);
    CHECK_INT((int)b.more[0].coord, 64);
}

TEST(other_order_and_narrow_rows)
{
    struct boxes b;
    CHECK(boxes(&b, "offset[(1,0) (2,0) (4,0) (8,0) (0,1) (0,2) (8,4) (0,8)]", 2, true));
    CHECK_INT(b.swizzle, 32);
    CHECK_INT(b.shape[0], 16);
    CHECK_INT(b.shape[1], 16);
}

TEST(no_swizzle)
{
    struct boxes b;
    CHECK(boxes(&b, "offset[(0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (0,64) (1,0) (2,0)]", 2, false));
    CHECK_INT(b.swizzle, 0);
    CHECK_INT(b.shape[1], 128);
}

TEST(none)
{
    struct boxes b;
    CHECK(!boxes(&b, "offset[(0,1) (1,0) (0,2) (0,4) (0,8) (0,16) (2,0)]", 2, false));
}
