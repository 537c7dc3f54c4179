/* SPDX-License-Identifier: MIT */
/* workspace.c: allocates memory for one launch (a workspace), in stream order, and copies rows into it.
 *
 *     workspace (cuMemAllocFromPoolAsync) ─► copy_rows ─► the launch ─► workspace_end (cuMemFreeAsync)
 *
 * The memory comes from a pool that only workspaces use. The pool keeps freed memory for the next launch. A CUDA graph
 * can capture all these calls.
 *
 * The driver's functions copy matrices slowly if rows begin at addresses that are not multiples of 16, so
 * copy_rows launches a kernel instead. Each thread of the kernel copies 16 bytes at a time. It loads one or
 * two aligned vectors of 16 bytes, which contain the bytes to copy, and shifts these bytes into place:
 *
 *     from   |....ABCDEFGHIJKL|MNOP............|        to   |ABCDEFGHIJKLMNOP|
 *
 * The thread loads the second vector only if this vector contains some of the bytes to copy. If an aligned
 * vector would begin before the source array or end after it, the thread copies single bytes instead. */
#include "runtime/devices/cuda/cuda.h"

enum { CHUNK = 16, THREADS = 256, CTAS_PER_SM = 8 };

/* The kernel's parameters for one copy. */
struct copy_param {
    uint64_t to, to_pitch, from, from_pitch, end; /* end: the address after the last byte of the source */
    uint32_t bytes, chunks, total, unused; /* bytes, chunks: the number of bytes, and of 16-byte chunks, in a
                                            * row; total: the number of chunks in all rows */
};
_Static_assert(sizeof(struct copy_param) == 56 && MAPS_MOST == 16, "as in the PTX");

/* clang-format off */
static const char copy_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry copy_rows(.param .align 8 .b8 copies[896])\n"
    "{\n"
    ".reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b32 %v<8>;\n.reg .b32 %z<6>;\n.reg .b32 %y<5>;\n"
    ".reg .b32 %o<4>;\n.reg .b64 %d<12>;\n"
    /* %ctaid.y is the number of the copy */
    "mov.u32 %r3, %ctaid.y;\nmov.b64 %d8, copies;\nmul.wide.u32 %d9, %r3, 56;\nadd.u64 %d8, %d8, %d9;\n"
    "ld.param.u64 %d0, [%d8];\nld.param.u64 %d1, [%d8+8];\n"
    "ld.param.u64 %d2, [%d8+16];\nld.param.u64 %d3, [%d8+24];\nld.param.u64 %d10, [%d8+32];\n"
    "ld.param.u32 %r0, [%d8+40];\nld.param.u32 %r1, [%d8+44];\nld.param.u32 %r2, [%d8+48];\n"
    "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\nmov.u32 %r6, %nctaid.x;\n"
    "mad.lo.u32 %r3, %r3, %r4, %r5;\nmul.lo.u32 %r4, %r4, %r6;\n"
    "$next:\n"
    "setp.ge.u32 %p0, %r3, %r2;\n@%p0 ret;\n"
    /* the row, and the offset in the row in bytes; the addresses; the number of bytes to copy */
    "div.u32 %r5, %r3, %r1;\nmul.lo.u32 %r6, %r5, %r1;\nsub.u32 %r6, %r3, %r6;\nshl.b32 %r6, %r6, 4;\n"
    "cvt.u64.u32 %d4, %r5;\ncvt.u64.u32 %d5, %r6;\n"
    "mad.lo.u64 %d6, %d4, %d3, %d2;\nadd.u64 %d6, %d6, %d5;\n"
    "mad.lo.u64 %d7, %d4, %d1, %d0;\nadd.u64 %d7, %d7, %d5;\n"
    "sub.u32 %r8, %r0, %r6;\nmin.u32 %r8, %r8, 16;\n"
    /* the aligned vectors, and whether they extend beyond the array */
    "cvt.u32.u64 %r7, %d6;\nand.b32 %r7, %r7, 15;\nand.b64 %d9, %d6, -16;\n"
    "add.u32 %r9, %r8, %r7;\nsetp.gt.u32 %p1, %r9, 16;\n"
    "selp.b64 %d11, 32, 16, %p1;\nadd.u64 %d11, %d9, %d11;\n"
    "setp.lt.u64 %p2, %d9, %d2;\nsetp.gt.u64 %p3, %d11, %d10;\nor.pred %p2, %p2, %p3;\n@%p2 bra $bytes;\n"
    "ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%d9];\n"
    "mov.b32 %v4, 0;\nmov.b32 %v5, 0;\nmov.b32 %v6, 0;\nmov.b32 %v7, 0;\n"
    "@%p1 ld.global.v4.b32 {%v4, %v5, %v6, %v7}, [%d9+16];\n"
    /* shifts by 8, by 4, and by up to 3 bytes */
    "and.b32 %r9, %r7, 8;\nsetp.ne.u32 %p2, %r9, 0;\nand.b32 %r9, %r7, 4;\nsetp.ne.u32 %p3, %r9, 0;\n"
    "and.b32 %r9, %r7, 3;\nshl.b32 %r9, %r9, 3;\n"
    "selp.b32 %z0, %v2, %v0, %p2;\nselp.b32 %z1, %v3, %v1, %p2;\nselp.b32 %z2, %v4, %v2, %p2;\n"
    "selp.b32 %z3, %v5, %v3, %p2;\nselp.b32 %z4, %v6, %v4, %p2;\nselp.b32 %z5, %v7, %v5, %p2;\n"
    "selp.b32 %y0, %z1, %z0, %p3;\nselp.b32 %y1, %z2, %z1, %p3;\nselp.b32 %y2, %z3, %z2, %p3;\n"
    "selp.b32 %y3, %z4, %z3, %p3;\nselp.b32 %y4, %z5, %z4, %p3;\n"
    "shf.r.wrap.b32 %o0, %y0, %y1, %r9;\nshf.r.wrap.b32 %o1, %y1, %y2, %r9;\n"
    "shf.r.wrap.b32 %o2, %y2, %y3, %r9;\nshf.r.wrap.b32 %o3, %y3, %y4, %r9;\n"
    "st.global.v4.b32 [%d7], {%o0, %o1, %o2, %o3};\n"
    "$done:\n"
    "add.u32 %r3, %r3, %r4;\nbra $next;\n"
    "$bytes:\n"
    "ld.global.u8 %r9, [%d6];\nst.global.u8 [%d7], %r9;\nadd.u64 %d6, %d6, 1;\nadd.u64 %d7, %d7, 1;\n"
    "sub.u32 %r8, %r8, 1;\nsetp.ne.u32 %p2, %r8, 0;\n@%p2 bra $bytes;\nbra $done;\n"
    "}\n";
/* clang-format on */

/* CUmemPoolProps: pinned memory of one device. */
struct cu_pool_props {
    int type, handles;
    struct {
        int type, id;
    } location;
    void *security;
    size_t bytes_most;
    unsigned char unused[64];
};

static bool make_pool(struct gpu *g, struct fault *f)
{
    enum { PINNED = 1, ON_DEVICE = 1, RELEASE_THRESHOLD = 4 };
    const struct cu_pool_props props = {.type = PINNED, .location = {ON_DEVICE, g->device}};
    uint64_t kept = UINT64_MAX;
    cu_mem_pool pool = NULL;
    if (!driver_check(&g->driver, g->driver.pool_create(&pool, &props), "cuMemPoolCreate", f))
        return false;
    if (driver_check(&g->driver, g->driver.pool_set(pool, RELEASE_THRESHOLD, &kept), "cuMemPoolSetAttribute",
                     f) &&
        driver_check(&g->driver, g->driver.module_load(&g->copy_module, copy_ptx, 0, NULL, NULL),
                     "cuModuleLoadDataEx", f) &&
        driver_check(&g->driver, g->driver.module_function(&g->copy_rows, g->copy_module, "copy_rows"),
                     "cuModuleGetFunction", f)) {
        g->pool = pool;
        return true;
    }
    g->driver.pool_destroy(pool);
    return false;
}

bool workspace_alloc(struct gpu *g, size_t bytes, void *stream, uint64_t *address, struct fault *f)
{
    cu_address p = 0;
    pthread_mutex_lock(&g->lock);
    bool good = g->pool || make_pool(g, f);
    pthread_mutex_unlock(&g->lock);
    good = good && driver_check(&g->driver, g->driver.alloc_in_pool(&p, bytes, g->pool, stream),
                                "cuMemAllocFromPoolAsync", f);
    *address = good ? p : 0;
    return good;
}

void workspace_free(struct gpu *g, uint64_t address, void *stream)
{
    g->driver.free_in_order(address, stream);
}

void workspace_close(struct gpu *g)
{
    if (g->copy_module)
        g->driver.module_unload(g->copy_module);
    if (g->pool)
        g->driver.pool_destroy(g->pool);
}

bool workspace_copy_rows(struct gpu *g, int multiprocessors, const struct row_copy *c, int n, void *stream,
                         struct fault *f)
{
    struct copy_param list[MAPS_MOST] = {0};
    void *params[] = {list};
    const uint64_t ctas_most = (uint64_t)CTAS_PER_SM * (uint64_t)multiprocessors;
    uint64_t ctas = 0;
    for (int i = 0; i < n; i++) {
        const uint64_t chunks = (c[i].bytes + CHUNK - 1) / CHUNK, total = chunks * c[i].rows,
                       wanted = (total + THREADS - 1) / THREADS;
        if (total > INT32_MAX)
            return fault_set(f, NESO_INVALID, ERR_device_memory, "for a copy");
        list[i] = (struct copy_param){.to = c[i].to,
                                      .to_pitch = c[i].to_pitch,
                                      .from = c[i].from,
                                      .from_pitch = c[i].from_pitch,
                                      .end = c[i].from + (c[i].rows - 1) * c[i].from_pitch + c[i].bytes,
                                      .bytes = (uint32_t)c[i].bytes,
                                      .chunks = (uint32_t)chunks,
                                      .total = (uint32_t)total};
        ctas = wanted > ctas ? wanted : ctas;
    }
    ctas = ctas < ctas_most ? ctas : ctas_most;
    cu_result r = g->driver.launch(g->copy_rows, (unsigned)ctas, (unsigned)n, 1, THREADS, 1, 1, 0, stream,
                                   params, NULL);
    return driver_check(&g->driver, r, "cuLaunchKernel", f);
}
