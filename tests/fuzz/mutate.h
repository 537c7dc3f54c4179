/* SPDX-License-Identifier: MIT */
/* mutate.h: declares the constants that each fuzz target must define for the mutator (mutate.c). */
#ifndef NESO_TESTS_FUZZ_MUTATE_H
#define NESO_TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The folder of the target's corpus, relative to the root. */
extern const char fuzz_corpus[];
/* Words that the mutator inserts, separated by blanks. */
extern const char fuzz_words[];

/* Words of Triton sources. */
#define TRITON_WORDS                                                                                                   \
    "tl.load tl.store tl.arange tl.program_id tl.num_programs tl.zeros tl.full tl.where tl.sum tl.max tl.min "         \
    "tl.argmax tl.cumsum tl.sort tl.flip tl.gather tl.histogram tl.dot tl.trans tl.reshape tl.join tl.split "          \
    "tl.broadcast_to tl.expand_dims tl.cat tl.permute tl.exp tl.log tl.sqrt tl.sin tl.abs tl.cdiv tl.float32 "         \
    "tl.float16 tl.bfloat16 tl.float64 tl.float8e5 tl.float8e4nv tl.int1 tl.int8 tl.int16 tl.int32 tl.int64 "          \
    "tl.uint32 tl.constexpr tl.range tl.static_range tl.static_assert tl.static_print tl.device_print "                \
    "tl.device_assert tl.atomic_add tl.atomic_cas tl.atomic_max tl.debug_barrier tl.make_block_ptr tl.advance "        \
    "tl.make_tensor_descriptor tl.rand tl.philox tl.reduce tl.associative_scan tl.inline_asm_elementwise "             \
    "tl.multiple_of tl.assume tl.extra .to .shape .dtype None True False not and or in is lambda for while if "         \
    "else return def class with try raise mask= other= axis= num_stages= num_warps= [:,None] [None,:] (8,8) "

#endif
