/* SPDX-License-Identifier: MIT */
/* emulator.c (test): tests that the emulator reports faults in PTX at the line marked `HERE`, with the right error and
 * Python source location. The same PTX without the fault must give the right result and no report. */
#include "runtime/devices/emulator/machine.h"
#include "tests/unit/test.h"
#include "tests/unit/world.h"

enum { THREADS = 64, ELEMS = 64 };

static const struct memory memory = {world_alloc, world_release, NULL};

/* Declares registers of every class, and sets some of them: %r1 is the thread's number; %rd4 and %rd5 are the
 * addresses of the thread's elements of x and y; %r4 is the address of the thread's word in shared memory; %p1 is true
 * if the thread's number is below 32. */
static const char head[] = ".version 8.0\n.target sm_90a\n.address_size 64\n.file 1 \"k.py\"\n"
                           ".extern .shared .align 16 .b8 smem[];\n"
                           ".visible .entry k(\n\t.param .u64 k_param_0,\n\t.param .u64 k_param_1\n)\n";
static const char start[] =
    "{\n\t.reg .pred %p<9>;\n\t.reg .b16 %h<9>;\n\t.reg .b32 %r<20>;\n\t.reg .b64 %rd<20>;\n\t.reg .f32 "
    "%f<20>;\n"
    "\t.loc 1 3 5\n"
    "\tmov.u32 %r1, %tid.x;\n\tld.param.u64 %rd1, [k_param_0];\n\tld.param.u64 %rd2, [k_param_1];\n"
    "\tmul.wide.s32 %rd3, %r1, 4;\n\tadd.s64 %rd4, %rd1, %rd3;\n\tadd.s64 %rd5, %rd2, %rd3;\n"
    "\tmov.u32 %r2, smem;\n\tshl.b32 %r3, %r1, 2;\n\tadd.s32 %r4, %r2, %r3;\n"
    "\tsetp.lt.s32 %p1, %r1, 32;\n";

struct run {
    struct emu_report report;
    int marked_line;
    _Alignas(64) uint32_t y[ELEMS]; /* a tensor map must be aligned to 64 bytes */
};

static int line_of(const char *text, const char *mark)
{
    const char *at = strstr(text, mark);
    int line = 1;
    for (const char *s = text; at && s < at; s++)
        line += *s == '\n';
    return at ? line : 0;
}

/* Runs the body in one CTA. Initially x[i] = i and y[i] = 0. */
static struct run run_threads(const char *body, int threads)
{
    struct run r = {0};
    struct arena a;
    struct text t;
    static _Alignas(16) uint32_t x[ELEMS];
    for (uint32_t i = 0; i < ELEMS; i++)
        x[i] = i;
    arena_init(&a, &memory, 0, world_fail, NULL);
    text_init(&t, &a);
    text_printf(&t, "%s.maxntid %d, 1, 1\n%s\t.loc 1 7 9\n%s\tret;\n}\n", head, threads, start, body);
    r.marked_line = line_of(t.s, "HERE");
    const struct emu_code *code = emulator_load(&a, t.s, t.len, &r.report);
    uint64_t args[] = {(uint64_t)(uintptr_t)x, (uint64_t)(uintptr_t)r.y};
    struct cpu_buffer buffers[] = {{args[0], sizeof x, "x", NULL, NULL},
                                   {args[1], sizeof r.y, "y", NULL, NULL}};
    if (args[0] > args[1]) {
        struct cpu_buffer first = buffers[1];
        buffers[1] = buffers[0], buffers[0] = first;
    }
    struct emu_launch l = {.grid = {1, 1, 1},
                           .args = args,
                           .buffers = buffers,
                           .nbuffers = 2,
                           .shared_bytes = 9 * THREADS,
                           .mem = &memory};
    if (code && !emulator_run(code, &l))
        r.report = l.report;
    arena_free(&a);
    return r;
}

static struct run run(const char *body)
{
    return run_threads(body, THREADS);
}

static void check_fault_of(const char *body, int threads, enum error expected)
{
    struct run r = run_threads(body, threads);
    CHECK_STR(r.report.error == ERR_count ? "no report" : error_tag(r.report.error), error_tag(expected));
    CHECK_INT(r.report.ptx_line, r.marked_line);
    CHECK_INT(r.report.loc.line, 7);
}

static void check_fault(const char *body, enum error expected)
{
    check_fault_of(body, THREADS, expected);
}

/* Checks that the body runs without a report and sets y[i] = 63 - i. */
static void check_reversed(const char *body)
{
    struct run r = run(body);
    if (r.report.error != ERR_count)
        test_fail(__FILE__, __LINE__, r.report.what);
    for (int i = 0; i < ELEMS; i++)
        CHECK_INT(r.y[i], ELEMS - 1 - i);
}

#define LOAD "\tld.global.b32 %r5, [%rd4];\n"
#define PUT "\tst.shared.b32 [%r4], %r5;\n"
#define OTHER "\tsub.s32 %r6, 252, %r3;\n\tadd.s32 %r7, %r2, %r6;\n"
#define BAR "\tbar.sync 0;\n"
#define GET "\tld.shared.b32 %r8, [%r7];\n"
#define STORE "\tst.global.b32 [%rd5], %r8;\n"

TEST(clean_through_shared_memory)
{
    check_reversed(LOAD PUT OTHER BAR GET STORE);
}

TEST(clean_in_both_branches)
{
    check_reversed(
        LOAD "\t@%p1 bra L1;\n\tsub.s32 %r8, 63, %r5;\n\tbra L2;\nL1:\n\txor.b32 %r8, %r5, 63;\nL2:\n" STORE);
}

/* The lanes leave the loop at different times, and reconverge before the shuffle. */
TEST(clean_after_a_loop_that_lanes_leave_at_different_times)
{
    check_reversed("\tsub.s32 %r8, 63, %r1;\n\tmov.u32 %r9, 0;\nL1:\n\tadd.s32 %r9, %r9, 1;\n\tsetp.le.s32 "
                   "%p2, %r9, %r1;\n\t@%p2 bra L1;\n"
                   "\tshfl.sync.bfly.b32 %r10, %r8, 0, 31, -1;\n\tmov.b32 %r8, %r10;\n" STORE);
}

/* An undefined value is not an error if no result depends on it. */
TEST(clean_where_undefined_values_are_not_used)
{
    check_reversed(
        "\t@%p1 ld.global.b32 %r5, [%rd4];\n\txor.b32 %r8, %r5, 63;\n\t@%p1 st.global.b32 [%rd5], %r8;\n"
        "\tsub.s32 %r8, 63, %r1;\n\t@!%p1 st.global.b32 [%rd5], %r8;\n");
}

TEST(missing_barrier)
{
    check_fault(LOAD "\tst.shared.b32 [%r4], %r5; // HERE\n" OTHER "\tst.shared.b32 [%r7], %r5;\n",
                ERR_emulator_race);
}

TEST(read_of_what_another_warp_wrote_without_a_barrier)
{
    check_fault("\t@%p1 st.shared.b32 [%r4], 1;\n" OTHER "\t@!%p1 ld.shared.b32 %r8, [%r7]; // HERE\n",
                ERR_emulator_race);
}

TEST(write_over_what_another_warp_reads)
{
    check_fault(LOAD PUT BAR OTHER GET "\t@!%p1 st.shared.b32 [%r4], 77; // HERE\n", ERR_emulator_race);
}

/* Eight warps read a word, and then one of these warps writes the word. Each group of four warps has a separate
 * barrier. So the barrier does not order the reads of the other group before the write. */
TEST(write_over_what_warps_of_another_group_read)
{
#define READ                                                                                                 \
    "\t@%p1 st.shared.b32 [%r2], 0;\n" BAR "\tld.shared.b32 %r8, [%r2];\n\tshr.u32 %r9, %r1, 7;\n"           \
    "\tadd.s32 %r9, %r9, 1;\n\tbar.sync %r9, 128;\n\tshr.u32 %r10, %r1, 5;\n"
    check_fault_of(READ "\tsetp.eq.s32 %p2, %r10, 0;\n\t@%p2 st.shared.b32 [%r2], 77; // HERE\n", 256,
                   ERR_emulator_race);
    check_fault_of(READ "\tsetp.eq.s32 %p2, %r10, 7;\n\t@%p2 st.shared.b32 [%r2], 77; // HERE\n", 256,
                   ERR_emulator_race);
#undef READ
}

TEST(bound_off_by_one)
{
    check_fault("\tld.global.b32 %r5, [%rd4+4]; // HERE\n", ERR_out_of_bounds);
}

TEST(store_before_a_tensor)
{
    check_fault("\tst.global.b32 [%rd5+-4], 1; // HERE\n", ERR_out_of_bounds);
}

TEST(vector_over_the_end)
{
    check_fault("\tsetp.eq.s32 %p2, %r1, 60;\n\t@%p2 ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd4];\n"
                "\tsetp.eq.s32 %p2, %r1, 62;\n\t@%p2 ld.global.v2.b64 {%rd6, %rd7}, [%rd4+8]; // HERE\n",
                ERR_out_of_bounds);
}

TEST(misaligned_vector)
{
    check_fault("\tsetp.lt.s32 %p2, %r1, 8;\n\t@%p2 ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd4]; // HERE\n",
                ERR_misaligned);
}

TEST(misaligned_in_shared_memory)
{
    check_fault("\tst.shared.b32 [%r2+2], 1; // HERE\n", ERR_misaligned);
}

TEST(shared_memory_over_its_end)
{
    check_fault(LOAD "\tst.shared.b32 [%r4+324], %r5; // HERE\n", ERR_out_of_bounds);
}

TEST(uninitialised_register_stored)
{
    check_fault("\tst.global.b32 [%rd5], %r9; // HERE\n", ERR_emulator_undefined);
}

TEST(uninitialised_register_followed_to_a_store)
{
    check_fault(
        "\t@%p1 ld.global.b32 %r5, [%rd4];\n\tadd.s32 %r8, %r5, 1;\n\tst.global.b32 [%rd5], %r8; // HERE\n",
        ERR_emulator_undefined);
}

TEST(uninitialised_register_in_an_address)
{
    check_fault("\tld.global.b32 %r5, [%rd9]; // HERE\n", ERR_emulator_undefined);
}

TEST(uninitialised_condition)
{
    check_fault("\tsetp.eq.s32 %p2, %r9, 0;\n\t@%p2 bra L1; // HERE\nL1:\n", ERR_emulator_undefined);
}

TEST(uninitialised_operands_of_calls)
{
    check_fault("\tcall __assertfail, (%rd9, %rd9, 3, %rd9, 1); // HERE\n", ERR_emulator_undefined);
    check_fault("\tmov.u64 %rd6, 0;\n\tcall __assertfail, (%rd6, %rd6, %r9, %rd6, 1); // HERE\n",
                ERR_emulator_undefined);
    check_fault("\tcall (%r5), vprintf, (%rd9, %rd1); // HERE\n", ERR_emulator_undefined);
    check_fault("\tcall (%r5), vprintf, (%rd1, %rd9); // HERE\n", ERR_emulator_undefined);
}

TEST(uninitialised_shared_memory)
{
    check_fault("\t@%p1 st.shared.b32 [%r4], 1;\n" BAR "\tld.shared.b32 %r8, [%r4]; // HERE\n",
                ERR_emulator_undefined);
}

TEST(barrier_that_a_warp_does_not_come_to)
{
    check_fault("\t@%p1 bra L1;\n\tbar.sync 0; // HERE\nL1:\n", ERR_emulator_barrier);
}

TEST(barriers_of_two_numbers)
{
    check_fault("\t@%p1 bra L1;\n\tbar.sync 1;\n\tbra L2;\nL1:\n\tbar.sync 0; // HERE\nL2:\n",
                ERR_emulator_barrier);
}

TEST(shuffle_without_all_its_lanes)
{
    check_fault("\tsetp.lt.s32 %p2, %r1, 16;\n\t@%p2 shfl.sync.bfly.b32 %r5, %r1, 1, 31, -1; // HERE\n",
                ERR_emulator_warp);
}

TEST(trap)
{
    check_fault("\tsetp.eq.s32 %p2, %r1, 5;\n\t@%p2 trap; // HERE\n", ERR_emulator_trap);
}

TEST(instructions_that_are_none)
{
    check_fault("\tadd.sat.f32 %f1, %f2, %f3; // HERE\n", ERR_emulator_ptx);
    check_fault("\t.reg .b32 %q<70000>; // HERE\n", ERR_emulator_ptx);
    check_fault("\t.shared .align 16 .b64 v[-2147483648]; // HERE\n", ERR_emulator_ptx);
    check_fault("\t.shared .align 4294967296 .b64 v[8]; // HERE\n", ERR_emulator_ptx);
    check_fault("\t.local .b64 v[2000000];\n\t.local .b64 w[2000000]; // HERE\n", ERR_emulator_ptx);
    check_fault("\t.maxntid 2147483648, 2, 1 // HERE\n", ERR_emulator_ptx);
    check_fault("\tfrobnicate.b32 %r1, %r2; // HERE\n", ERR_emulator_ptx);
    check_fault("\tadd.s32 %r1, %r2, %rd1; // HERE\n", ERR_emulator_ptx);
    check_fault("\tadd.s32 %r1, %r2, %r99; // HERE\n", ERR_emulator_ptx);
    check_fault("\tbra L9; // HERE\n", ERR_emulator_ptx);
}

/* A wgmma.fence, and a wait for a group without a wgmma, are valid. */
TEST(wgmma_that_orders_nothing)
{
    struct run r = run_threads("\twgmma.fence.sync.aligned;\n\twgmma.commit_group.sync.aligned;\n"
                               "\twgmma.wait_group.sync.aligned 0;\n",
                               128);
    CHECK(r.report.error == ERR_count);
}

TEST(a_report_says_where)
{
    struct run r = run("\tsetp.eq.s32 %p2, %r1, 63;\n\t@%p2 st.global.b32 [%rd5+4], 1; // HERE\n");
    CHECK_INT(r.report.thread, 63);
    CHECK(strstr(r.report.what, "program (0, 0, 0), thread 63: "));
    CHECK(strstr(r.report.what, "is byte 256 of 'y', which has 256 (4 bytes are accessed)"));
    CHECK(strstr(r.report.what, "`@%p2 st.global.b32 [%rd5+4], 1`"));
    r = run("\t@%p1 st.shared.b32 [%r4], 1; // HERE\n" OTHER "\t@!%p1 ld.shared.b32 %r8, [%r7];\n");
    char other[100];
    snprintf(other, sizeof other, "which warp 0 writes at line %d", r.marked_line);
    CHECK(strstr(r.report.what, other));
    r = run("\tst.global.b32 [%rd5+1073741824], 1;\n");
    CHECK(strstr(r.report.what, "is in no tensor, and 1073741"));
    CHECK(strstr(r.report.what, ", the nearest (4 bytes are accessed)"));
}

/* -- asynchronous copies: the threads read values that cp.async copies for other threads -- */

#define ASYNC "\tcp.async.ca.shared.global [%r4], [%rd4], 4;\n"
#define COMMIT "\tcp.async.commit_group;\n"

TEST(clean_asynchronous_copy)
{
    check_reversed(ASYNC COMMIT "\tcp.async.wait_group 0;\n" OTHER BAR GET STORE);
    check_reversed(ASYNC "\tcp.async.commit_group;\n\tcp.async.wait_group 0;\n" OTHER BAR GET STORE);
}

/* A wait for all groups except the newest lets the newest stay in flight. Lanes that copy 0 bytes get zeros and read
 * no memory. */
TEST(clean_copy_groups)
{
    check_reversed(
        "\tshr.u32 %r9, %r1, 5;\n\tshl.b32 %r9, %r9, 2;\n\tmov.u64 %rd6, %rd4;\n\t@%p1 mov.u64 %rd6, 0;\n"
        "\tcp.async.ca.shared.global [%r4], [%rd6], 4, %r9;\n" COMMIT
        "\tcp.async.ca.shared.global [%r4+256], [%rd4], 4;\n" COMMIT
        "\tcp.async.wait_group 1;\n" OTHER BAR GET
        "\t@!%p1 sub.s32 %r9, 63, %r1;\n\t@!%p1 add.s32 %r8, %r8, %r9;\n" STORE);
}

TEST(copy_without_a_wait)
{
    check_fault(ASYNC COMMIT "\tld.shared.b32 %r8, [%r4]; // HERE\n", ERR_emulator_race);
    check_fault(ASYNC COMMIT BAR OTHER "\tld.shared.b32 %r8, [%r7]; // HERE\n", ERR_emulator_race);
    check_fault(ASYNC COMMIT "\tst.shared.b32 [%r4], 5; // HERE\n", ERR_emulator_race);
}

TEST(copy_without_a_commit)
{
    check_fault(ASYNC "\tcp.async.wait_group 0;\n\tld.shared.b32 %r8, [%r4]; // HERE\n", ERR_emulator_race);
}

TEST(wait_for_one_group_too_few)
{
    check_fault(ASYNC COMMIT "\tcp.async.wait_group 1;\n\tld.shared.b32 %r8, [%r4]; // HERE\n",
                ERR_emulator_race);
}

TEST(copy_waited_for_by_its_warp_only)
{
    check_fault(ASYNC COMMIT "\tcp.async.wait_group 0;\n" OTHER "\t@!%p1 ld.shared.b32 %r8, [%r7]; // HERE\n",
                ERR_emulator_race);
    check_fault(ASYNC COMMIT BAR "\tcp.async.wait_group 0;\n" OTHER
                                 "\t@!%p1 ld.shared.b32 %r8, [%r7]; // HERE\n",
                ERR_emulator_race);
}

TEST(copy_over_what_is_read)
{
    check_fault(LOAD PUT BAR OTHER GET "\t@!%p1 cp.async.ca.shared.global [%r4], [%rd4], 4; // HERE\n",
                ERR_emulator_race);
}

TEST(copy_from_outside)
{
    check_fault("\tcp.async.ca.shared.global [%r4], [%rd4+4], 4; // HERE\n", ERR_out_of_bounds);
    check_fault("\tcp.async.ca.shared.global [%r4+324], [%rd4], 4; // HERE\n", ERR_out_of_bounds);
    check_fault("\tcp.async.cg.shared.global [%r4], [%rd4], 16; // HERE\n", ERR_misaligned);
    check_fault("\tcp.async.ca.shared.global [%r4], [%rd4], 4, 5; // HERE\n", ERR_emulator_ptx);
    check_fault("\tmov.u32 %r9, 5;\n\tcp.async.ca.shared.global [%r4], [%rd4], 4, %r9; // HERE\n",
                ERR_out_of_bounds);
}

/* -- barriers of a subset of the threads -- */

TEST(clean_named_barriers)
{
    check_reversed("\t@%p1 bra L1;\n" LOAD PUT "\tbar.arrive 1, 64;\n\tbra L2;\nL1:\n\tsub.s32 %r5, 0, 1;\n"
                   "\tbar.sync 1, 64;\n" OTHER GET "\tst.global.b32 [%rd5], %r8;\nL2:\n"
                   "\tbar.sync 0;\n\t@%p1 bra L3;\n\tsub.s32 %r8, 63, %r1;\n" STORE "L3:\n");
}

TEST(arrival_is_no_wait)
{
    check_fault("\t@!%p1 bra L1;\n" LOAD PUT "\tbar.sync 1, 64;\n\tbra L2;\nL1:\n\tbar.arrive 1, 64;\n" OTHER
                "\tld.shared.b32 %r8, [%r7]; // HERE\nL2:\n",
                ERR_emulator_race);
}

TEST(barrier_of_one_warp_orders_no_other)
{
    check_fault(LOAD PUT "\tadd.s32 %r9, %r1, 0;\n\tshr.u32 %r9, %r9, 5;\n\tbar.sync %r9, 32;\n" OTHER
                         "\tld.shared.b32 %r8, [%r7]; // HERE\n",
                ERR_emulator_race);
}

/* -- generic addresses and local memory -- */

TEST(clean_generic_addresses)
{
    check_reversed("\tld.b32 %r5, [%rd4];\n\tcvt.u64.u32 %rd6, %r4;\n\tcvta.shared.u64 %rd6, %rd6;\n"
                   "\tst.b32 [%rd6], %r5;\n" OTHER BAR
                   "\tcvt.u64.u32 %rd7, %r7;\n\tcvta.shared.u64 %rd7, %rd7;\n\tmov.u64 %rd8, %rd7;\n"
                   "\t@%p1 sub.s64 %rd9, 252, %rd3;\n\t@%p1 add.s64 %rd8, %rd1, %rd9;\n"
                   "\tld.b32 %r8, [%rd8];\n\tst.b32 [%rd5], %r8;\n");
}

TEST(clean_local_memory)
{
    check_reversed("\t.local .align 8 .b8 mine[16];\n\tmov.u64 %rd6, mine;\n\tsub.s32 %r8, 63, %r1;\n"
                   "\tst.local.b32 [%rd6+4], %r8;\n\tcvta.local.u64 %rd7, %rd6;\n\tld.b32 %r9, [%rd7+4];\n"
                   "\tst.v2.b32 [%rd7+8], {%r1, %r9};\n\tld.local.b32 %r8, [mine+12];\n" STORE);
}

TEST(faults_of_local_memory)
{
    check_fault("\t.local .align 4 .b8 mine[8];\n\tld.local.b32 %r8, [mine];\n"
                "\tst.global.b32 [%rd5], %r8; // HERE\n",
                ERR_emulator_undefined);
    check_fault("\t.local .align 4 .b8 mine[8];\n\tst.local.b32 [mine+8], 1; // HERE\n", ERR_out_of_bounds);
    check_fault("\t.local .align 4 .b8 mine[8];\n\tst.local.b32 [mine+2], 1; // HERE\n", ERR_misaligned);
}

TEST(generic_address_is_checked_where_it_leads)
{
    check_fault("\tcvt.u64.u32 %rd6, %r4;\n\tcvta.shared.u64 %rd6, %rd6;\n\tst.b32 [%rd6+1024], 1; // HERE\n",
                ERR_out_of_bounds);
    check_fault("\tld.b32 %r5, [%rd4+256]; // HERE\n", ERR_out_of_bounds);
}

/* -- an mbarrier that waits for cp.async -- */

#define MBARRIER "\tsetp.eq.s32 %p2, %r1, 0;\n\t@%p2 mbarrier.init.shared.b64 [%r2+256], 64;\n" BAR
#define WAIT "L7:\n\tmbarrier.try_wait.parity.shared.b64 %p3, [%r2+256], 0;\n\t@!%p3 bra L7;\n"
#define ARRIVE "\tcp.async.mbarrier.arrive.noinc.shared.b64 [%r2+256];\n"

TEST(clean_mbarrier_for_copies)
{
    check_reversed(MBARRIER ASYNC ARRIVE WAIT OTHER GET STORE);
}

TEST(mbarrier_for_copies_of_before)
{
    check_fault(MBARRIER ARRIVE "\tcp.async.ca.shared.global [%r4], [%rd4], 4;\n" WAIT OTHER
                                "\tld.shared.b32 %r8, [%r7]; // HERE\n",
                ERR_emulator_race);
    check_fault(MBARRIER ASYNC ARRIVE "\t@%p1 cp.async.mbarrier.arrive.noinc.shared.b64 [%r2+256];\n"
                                      "\t@%p1 cp.async.mbarrier.arrive.noinc.shared.b64 [%r2+256];\n"
                                      "\tbar.sync 1, 32; // HERE\n",
                ERR_emulator_barrier);
}

/* -- loads from shared memory that are still in flight -- */

#define COPIED                                                                                               \
    "\tsetp.eq.s32 %p2, %r1, 0;\n\t@%p2 mbarrier.init.shared.b64 [%r2+256], 1;\n"                            \
    "\tfence.mbarrier_init.release.cluster;\n" BAR COPY "\n" WAIT
#define COPY                                                                                                 \
    "\t@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+256], 256;\n"                                  \
    "\t@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 256, "          \
    "[%r2+256];"

#define WAIT_AGAIN "L8:\n\tmbarrier.try_wait.parity.shared.b64 %p3, [%r2+256], 1;\n\t@!%p3 bra L8;\n"

/* A store that needs the data, or a proxy fence, stands before the barrier. */
TEST(clean_copy_over_what_was_loaded)
{
    check_reversed(COPIED "\tld.shared.b32 %r8, [%r4];\n\tsub.s32 %r8, 63, %r8;\n" STORE BAR COPY
                          "\n" WAIT_AGAIN);
    check_reversed(COPIED "\tld.shared.b32 %r8, [%r4];\n\tfence.proxy.async.shared::cta;\n" BAR COPY
                          "\n\tsub.s32 %r8, 63, %r8;\n" STORE WAIT_AGAIN);
}

/* A barrier does not wait for data, and the assembler may move the subtraction behind it. */
TEST(copy_over_what_may_still_be_loaded)
{
    check_fault(COPIED "\tld.shared.b32 %r8, [%r4];\n\tsub.s32 %r8, 63, %r8;\n" BAR COPY " // HERE\n" STORE,
                ERR_emulator_race);
    check_fault(COPIED "\tld.shared.b32 %r8, [%r4];\n\tsub.s32 %r8, 63, %r8;\n" BAR STORE COPY " // HERE\n",
                ERR_emulator_race);
}

/* -- tensor maps in global memory -- */

/* Thread 0 stores a tensor map to y, whose box of 8 rows of 16 bytes is the map itself, and copies zeros there. */
TEST(clean_where_a_copy_overwrites_its_tensor_map)
{
    struct run r =
        run("\t@%p1 st.shared.b32 [%r4], 0;\n\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n"
            "\tsetp.eq.s32 %p2, %r1, 0;\n\tmov.b64 %rd6, 4;\n\tmov.b64 %rd7, 8;\n\tmov.b64 %rd8, 16;\n"
            "\t@%p2 st.global.b32 [%rd2], 0x4d54534e;\n\t@%p2 st.global.b32 [%rd2+4], 0x202;\n"
            "\t@%p2 st.global.b64 [%rd2+8], %rd2;\n\t@%p2 st.global.b64 [%rd2+16], %rd6;\n"
            "\t@%p2 st.global.b64 [%rd2+24], %rd7;\n\t@%p2 st.global.b64 [%rd2+56], %rd8;\n"
            "\t@%p2 st.global.b32 [%rd2+88], 0x80004;\n\t@%p2 st.global.b32 [%rd2+96], 0x1010000;\n"
            "\t@%p2 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {0, 0}], [%r2];\n"
            "\t@%p2 cp.async.bulk.commit_group;\n\t@%p2 cp.async.bulk.wait_group 0;\n");
    CHECK_STR(r.report.error == ERR_count ? "no report" : r.report.what, "no report");
    for (int i = 0; i < 32; i++)
        CHECK_INT(r.y[i], 0);
}

/* -- addresses whose 32-bit arithmetic overflows -- */

#define LARGE "\tmul.lo.s32 %r9, %r1, 0x2000000;\n\tadd.s32 %r9, %r9, %r9;\n"

/* Overflow is not an error if later arithmetic brings the address back into range, if the arithmetic is unsigned, or
 * if no access uses the result. */
TEST(clean_where_numbers_fit_in_the_end)
{
    check_reversed(LARGE
                   "\tadd.s32 %r9, %r9, %r9;\n\tmul.lo.s32 %r10, %r1, 0x8000000;\n\tsub.s32 %r9, %r9, %r10;\n"
                   "\tadd.s32 %r9, %r9, %r1;\n\tmul.wide.s32 %rd6, %r9, 4;\n\tadd.s64 %rd6, %rd2, %rd6;\n"
                   "\tsub.s32 %r8, 63, %r1;\n\tst.global.b32 [%rd6], %r8;\n");
    check_reversed(LARGE
                   "\tand.b32 %r9, %r9, 0;\n\tadd.s32 %r9, %r9, %r1;\n\tmul.wide.s32 %rd6, %r9, 4;\n"
                   "\tadd.s64 %rd6, %rd2, %rd6;\n\tsub.s32 %r8, 63, %r1;\n\tst.global.b32 [%rd6], %r8;\n");
    check_reversed("\tsub.s32 %r8, 63, %r1;\n" STORE LARGE
                   "\tmul.wide.s32 %rd6, %r9, 4;\n\tadd.s64 %rd6, %rd2, %rd6;\n"
                   "\tsetp.eq.s32 %p2, %r1, 0;\n\t@%p2 st.global.b32 [%rd6], 63;\n");
}

TEST(number_that_does_not_fit)
{
    check_fault(LARGE "\tmul.wide.s32 %rd6, %r9, 0;\n\tadd.s64 %rd6, %rd4, %rd6;\n"
                      "\tst.global.b32 [%rd6], 1; // HERE\n",
                ERR_address_overflow);
    check_fault(LARGE "\tcvt.s64.s32 %rd6, %r9;\n\tand.b64 %rd7, %rd6, 0;\n\tsetp.lt.s32 %p2, %r1, 32;\n"
                      "\tselp.b64 %rd7, %rd4, %rd6, %p2;\n\tld.global.b32 %r8, [%rd7]; // HERE\n",
                ERR_address_overflow);
}
