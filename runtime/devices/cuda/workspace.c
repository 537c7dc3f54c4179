/* SPDX-License-Identifier: MIT */
/* workspace.c: memory that one launch needs, in the order of its stream, and copies of rows into it.
 *
 *     workspace (cuMemAllocFromPoolAsync) ─► copy_rows ─► the launch ─► workspace_end (cuMemFreeAsync)
 *
 * The memory comes from a pool of the device's own, which keeps freed memory for the next launch. All calls may be part of a CUDA graph. The
 * driver's copies of matrices are slow where rows begin at odd addresses, so a kernel copies: each thread loads the
 * one or two aligned vectors of 16 bytes around its 16 bytes, and shifts them.
 *
 *     from   |....ABCDEFGHIJKL|MNOP............|        to   |ABCDEFGHIJKLMNOP|
 *
 * The second vector is loaded only if the row has bytes in it, so that the kernel reads no page without bytes of the array. */
#include "runtime/devices/cuda/cuda.h"

enum { CHUNK = 16, THREADS = 256, CTAS_PER_SM = 8 };

/* What the kernel gets of a copy. */
struct copy_param {
    uint64_t to, to_pitch, from, from_pitch;
    uint32_t bytes, chunks, total, unused; /* of a row: bytes, chunks of 16 bytes; chunks of all rows */
};
_Static_assert(sizeof(struct copy_param) * MAPS_MOST == 768 && sizeof(struct copy_param) == 48,
               "as in the PTX");

static const char copy_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry copy_rows(.param .align 8 .b8 copies[768])\n"
    "{\n"
    "\t.reg .pred %p<4>;\n\t.reg .b32 %r<16>;\n\t.reg .b32 %v<8>;\n\t.reg .b32 %z<6>;\n\t.reg .b32 %y<5>;\n"
    "\t.reg .b32 %o<4>;\n\t.reg .b64 %d<10>;\n"
    /* axis 1 of the grid counts the copies */
    "\tmov.u32 %r3, %ctaid.y;\n\tmov.b64 %d8, copies;\n\tmul.wide.u32 %d9, %r3, 48;\n\tadd.u64 %d8, %d8, "
    "%d9;\n"
    "\tld.param.u64 %d0, [%d8];\n\tld.param.u64 %d1, [%d8+8];\n"
    "\tld.param.u64 %d2, [%d8+16];\n\tld.param.u64 %d3, [%d8+24];\n"
    "\tld.param.u32 %r0, [%d8+32];\n\tld.param.u32 %r1, [%d8+36];\n\tld.param.u32 %r2, [%d8+40];\n"
    "\tmov.u32 %r3, %ctaid.x;\n\tmov.u32 %r4, %ntid.x;\n\tmov.u32 %r5, %tid.x;\n\tmov.u32 %r6, %nctaid.x;\n"
    "\tmad.lo.u32 %r3, %r3, %r4, %r5;\n\tmul.lo.u32 %r4, %r4, %r6;\n"
    "$next:\n"
    "\tsetp.ge.u32 %p0, %r3, %r2;\n\t@%p0 ret;\n"
    /* the row, and the distance in the row in bytes */
    "\tdiv.u32 %r5, %r3, %r1;\n\tmul.lo.u32 %r6, %r5, %r1;\n\tsub.u32 %r6, %r3, %r6;\n\tshl.b32 %r6, %r6, "
    "4;\n"
    "\tcvt.u64.u32 %d4, %r5;\n\tcvt.u64.u32 %d5, %r6;\n"
    "\tmad.lo.u64 %d6, %d4, %d3, %d2;\n\tadd.u64 %d6, %d6, %d5;\n"
    "\tmad.lo.u64 %d7, %d4, %d1, %d0;\n\tadd.u64 %d7, %d7, %d5;\n"
    "\tcvt.u32.u64 %r7, %d6;\n\tand.b32 %r7, %r7, 15;\n\tand.b64 %d6, %d6, -16;\n"
    "\tsub.u32 %r8, %r0, %r6;\n\tmin.u32 %r8, %r8, 16;\n\tadd.u32 %r8, %r8, %r7;\n\tsetp.gt.u32 %p1, %r8, "
    "16;\n"
    "\tld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%d6];\n"
    "\tmov.b32 %v4, 0;\n\tmov.b32 %v5, 0;\n\tmov.b32 %v6, 0;\n\tmov.b32 %v7, 0;\n"
    "\t@%p1 ld.global.v4.b32 {%v4, %v5, %v6, %v7}, [%d6+16];\n"
    /* shifts by 8, by 4, and by up to 3 bytes */
    "\tand.b32 %r9, %r7, 8;\n\tsetp.ne.u32 %p2, %r9, 0;\n\tand.b32 %r9, %r7, 4;\n\tsetp.ne.u32 %p3, %r9, 0;\n"
    "\tand.b32 %r9, %r7, 3;\n\tshl.b32 %r9, %r9, 3;\n"
    "\tselp.b32 %z0, %v2, %v0, %p2;\n\tselp.b32 %z1, %v3, %v1, %p2;\n\tselp.b32 %z2, %v4, %v2, %p2;\n"
    "\tselp.b32 %z3, %v5, %v3, %p2;\n\tselp.b32 %z4, %v6, %v4, %p2;\n\tselp.b32 %z5, %v7, %v5, %p2;\n"
    "\tselp.b32 %y0, %z1, %z0, %p3;\n\tselp.b32 %y1, %z2, %z1, %p3;\n\tselp.b32 %y2, %z3, %z2, %p3;\n"
    "\tselp.b32 %y3, %z4, %z3, %p3;\n\tselp.b32 %y4, %z5, %z4, %p3;\n"
    "\tshf.r.wrap.b32 %o0, %y0, %y1, %r9;\n\tshf.r.wrap.b32 %o1, %y1, %y2, %r9;\n"
    "\tshf.r.wrap.b32 %o2, %y2, %y3, %r9;\n\tshf.r.wrap.b32 %o3, %y3, %y4, %r9;\n"
    "\tst.global.v4.b32 [%d7], {%o0, %o1, %o2, %o3};\n"
    "\tadd.u32 %r3, %r3, %r4;\n\tbra $next;\n"
    "}\n";

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
        list[i] = (struct copy_param){
            c[i].to,          c[i].to_pitch,   c[i].from, c[i].from_pitch, (uint32_t)c[i].bytes,
            (uint32_t)chunks, (uint32_t)total, 0};
        ctas = wanted > ctas ? wanted : ctas;
    }
    ctas = ctas < ctas_most ? ctas : ctas_most;
    cu_result r = g->driver.launch(g->copy_rows, (unsigned)ctas, (unsigned)n, 1, THREADS, 1, 1, 0, stream,
                                   params, NULL);
    return driver_check(&g->driver, r, "cuLaunchKernel", f);
}
