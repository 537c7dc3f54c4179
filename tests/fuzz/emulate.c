/* SPDX-License-Identifier: MIT */
/* emulate.c: reads any bytes as PTX, and runs it in the emulator. No input may crash, hang or leak; errors must be
 * reported. The value of every parameter is the address of a buffer that begins with a tensor map. If this address is
 * the number of iterations of a loop, a step limit ends the loop.
 *
 *   make fuzz-emulate && build/fuzz/fuzz_emulate tests/fuzz/emulate -max_len=20000 -runs=1000000 */
#include "runtime/devices/emulator/machine.h"
#include "runtime/devices/tensormap.h"
#include "tests/fuzz/mutate.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "tests/fuzz/emulate";
const char fuzz_words[] =
    "%r1 %r2 %rd1 %f1 %p1 %h1 %tid.x %ctaid.x %laneid .u32 .s32 .u64 .f32 .f16x2 .bf16 .b32 .b64 .pred .v2 "
    ".v4 .sync .aligned "
    ".global .shared .cta .cluster ld.global.b32 st.global.b32 ld.shared.v4.b32 st.shared.b32 "
    "atom.global.add.u32 red "
    "bar.sync 0 shfl.sync.bfly.b32 mbarrier.init.shared::cta.b64 mbarrier.try_wait.parity.shared::cta.b64 "
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 wgmma.fence.sync.aligned; "
    "wgmma.wait_group.sync.aligned "
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 cp.async.ca.shared.global cp.async.wait_group cvt.rn.f16.f32 "
    "setp.lt.s32 "
    "selp.b32 fma.rn.f32 mad.lo.s32 shl.b32 prmt.b32 bra ret; trap; @%p1 @!%p1 .entry .reg .param .maxntid "
    "smem 0x400 -1 ";

enum { BUFFERS = 8, BUFFER_BYTES = 4096, SHARED_BYTES = 1 << 16, INSNS_MOST = 10000 };

static void *allocate(void *user, size_t bytes)
{
    (void)user;
    return malloc(bytes);
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static const struct memory memory = {allocate, release, NULL};

static void full(void *user, size_t bytes)
{
    (void)bytes;
    longjmp(*(jmp_buf *)user, 1);
}

static void fill(unsigned char *buffer)
{
    const struct packed_map map = {.magic = MAP_MAGIC,
                                   .type = MAP_f16,
                                   .rank = 2,
                                   .base = (uint64_t)(uintptr_t)buffer,
                                   .extent = {64, 16},
                                   .stride = {128},
                                   .box = {64, 8},
                                   .step = {1, 1},
                                   .swizzle = SWIZZLE_128};
    for (int i = 0; i < BUFFER_BYTES; i++)
        buffer[i] = (unsigned char)(i * 37);
    memcpy(buffer, &map, sizeof map);
}

static void run(const struct emu_code *code)
{
    struct cpu_buffer list[BUFFERS];
    struct budget budget;
    uint64_t args[256];
    budget_init(&budget, &memory);
    budget_begin(&budget, 0, INSNS_MOST);
    unsigned char *buffers = aligned_alloc(256, BUFFERS * BUFFER_BYTES);
    for (int i = 0; i < BUFFERS && buffers; i++) {
        fill(buffers + i * BUFFER_BYTES);
        list[i] = (struct cpu_buffer){(uint64_t)(uintptr_t)(buffers + i * BUFFER_BYTES), BUFFER_BYTES, "b",
                                      NULL, NULL};
    }
    for (int i = 0; i < 256; i++)
        args[i] = list[i % BUFFERS].base;
    struct emu_launch l = {.grid = {2, 1, 1},
                           .args = args,
                           .buffers = list,
                           .nbuffers = BUFFERS,
                           .shared_bytes = SHARED_BYTES,
                           .num_workers = 1,
                           .mem = &budget.mem,
                           .budget = &budget};
    if (buffers && code->nparams <= 256 && code->num_threads <= 256)
        emulator_run(code, &l);
    free(buffers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct emu_report r;
    jmp_buf too_large;
    char *text = malloc(size + 1); /* the emulator needs a text that ends with a zero byte */
    memcpy(text, data, size);
    text[size] = '\0';
    arena_init(&a, &memory, (size_t)64 << 20, full, &too_large);
    if (setjmp(too_large) == 0) {
        const struct emu_code *code = emulator_load(&a, text, size, &r);
        if (code)
            run(code);
    }
    arena_free(&a);
    free(text);
    return 0;
}
