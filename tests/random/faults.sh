#!/usr/bin/env bash
# tests/random/faults.sh [NAME...]: does the generator find faults? Each one below (or those named) is put into a
# copy of the compiler, alone, and random kernels are run until one fails, 2,000 at most. By hand: it takes half an
# hour. FIRST is the first seed, N how many, ARGS more arguments of random_kernels.
# The last line is `N passed, N failed`.
set -u
cd "$(dirname "$0")/../.." || exit 2
first=${FIRST:-7000000} count=${N:-2000}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
make -s -j"$(nproc)" build/random_kernels || exit 1
{ git ls-files; find build/ir build/frontend build/opt build/codegen build/runtime build/tests/random -type f
  echo build/random_kernels; echo build/inner.a; ls build/build_id.*; } | tar -cf - -T - | tar -xf - -C "$work"
cp "$work/build/random_kernels" "$work/sound"
passed=0 failed=0
wanted=" $* "

run() { # PROGRAM: the number of the first kernel that fails and how, or nothing
    # shellcheck disable=SC2086
    (cd "$work" && eval "$1 $count $first first quick ${ARGS:-}" 2>&1) | awk -v first="$first" '/^FAILED/ {
        sub(/:/, "", $2); printf "%d\t%s\n", $2 - first + 1, $0; exit }'
}

fault() { # NAME FILE SED WHAT
    local name=$1 file=$work/$2 found
    [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]] || return
    cp -p "$file" "$work/kept"
    sed -i -E "$3" "$file"
    if cmp -s "$file" "$work/kept"; then
        echo "$name: $2 has changed: the fault does not apply"; failed=$((failed + 1)); return
    fi
    if ! (cd "$work" && make -s build/random_kernels) >"$work/log" 2>&1; then
        echo "$name: does not build"; tail -n 5 "$work/log"; failed=$((failed + 1))
    else
        found=$(run build/random_kernels)
        if [ -n "$found" ]; then
            passed=$((passed + 1))
            printf '%-24s after %5d: %.120s\n' "$name" "${found%%	*}" "$(sed -E 's/.*: ([a-z]+.*)/\1/' <<<"${found#*	}")"
        else
            failed=$((failed + 1))
            printf '%-24s NOT FOUND: %s\n' "$name" "$4"
        fi
    fi
    cp "$work/kept" "$file" # a new date: its object is built again
}

[ "$wanted" != "  " ] || sound=$(run ./sound) # of all faults, not of those named
[ -z "${sound:-}" ] || echo "without a fault, too: ${sound#*	}"

fault loop_counter codegen/regalloc.c 's/s->from <= source->defs/s->from < source->defs/' \
    "a copy and its source share a register although the source changes first in a block"
fault no_barrier opt/barrier.c 's/\(x->writes \|\| y->writes\) && x->start/y->writes \&\& x->start/' \
    "no barrier between a read of shared memory and the write that follows"
fault swizzle_of_wgmma ir/wgmma.c 's/(v->swizzle = codes\[swizzle_bits\(width\))\]/\1 == 3 ? 2 : swizzle_bits(width)]/' \
    "tensor cores read another swizzle than copies wrote"
fault mask_of_vector opt/vector.c 's/if \(mask < width\)/if (2 * mask < width)/' \
    "a vector of which half is masked is loaded and stored whole"
fault stale_stage opt/stage.c 's/build_wait\(p, &b, p->nstages - 2\)/build_wait(p, \&b, p->nstages - 1)/' \
    "a pipeline waits for one copy too few"
fault lane_of_reduce codegen/select_reduce.c 's/INT64_C\(1\) << bit\)\)/INT64_C(1) << (bit == 2 ? 1 : bit)))/' \
    "a reduction asks the wrong lane"
fault swapped_operands ir/ops.h '/^OP\(sub, /s/PURE\|ELEMENTWISE/PURE|ELEMENTWISE|COMMUTES/' \
    "x - y is taken for y - x"
fault bound_of_mask codegen/select_gather.c 's/MOD_lt\), bin, nbins/MOD_le), bin, nbins/' \
    "a histogram counts one value too many"
fault wrong_fold opt/fold.c 's/case OP_divu: return power \? build_binary\(b, OP_shru/case OP_divs: case OP_divu: return power ? build_binary(b, OP_shru/; /case OP_divs: return is_constant\(y, ONES\)/d' \
    "a signed division by a power of two is a shift"
fault cast_rounding codegen/select_cast.c 's/round == ROUND_rz \? MOD_rz : MOD_rn\), x\);/MOD_rz), x);/' \
    "f32 to f16 and bf16 is cut off"
fault cse_across_store opt/cse.c 's/e->hash == hash && e->nwrites == nwrites/e->hash == hash \&\& nwrites >= 0/' \
    "a load is taken for the same load before a store"
fault licm_of_load opt/licm.c 's/o->nresults > 0 && is_pure\(o\)/o->nresults > 0 \&\& (is_pure(o) || (o->code == OP_load \&\& !op_opnd(o, 1)))/' \
    "a load leaves a loop that stores to the same place"
fault alignment_of_sum opt/axis.c '/^static void rule_or/,/^}/s/set_divisible\(r, d, least\(/set_divisible(r, d, most(/' \
    "x | y is taken to be as aligned as the better of both"
fault atomics_of_copies codegen/select_atomic.c 's/(struct opnd owner = )emit_is_owner\(s, l\), \*tile/\1{.kind = OPND_none}, *tile/' \
    "threads that hold the same element all do its atomic"
fault scan_across_lanes codegen/select_scan.c '/^static struct opnd lane_before/,/^}/s/x->lane_mask\)\);/x->lane_mask \& ~UINT32_C(16)));/' \
    "the second half of a warp goes on from the wrong lane"
fault fragment_of_mma codegen/select_dot.c 's/(n \+= matrix_words\(s, g, b, DOT_b, at, x \+ n\);)/\1 { struct opnd last = x[n - 1]; x[n - 1] = x[n - 2]; x[n - 2] = last; }/' \
    "the last two registers of B change places"
fault schedule_past_store codegen/schedule.c 's/add_edge\(s, o->last_write, at, 1\);/if (writes) add_edge(s, o->last_write, at, 1);/' \
    "a load comes before the store that it follows"
fault phase_of_ring opt/warps.c 's/build_const_i32\(b, r->stages\)\);/build_const_i32(b, r->stages > 2 ? r->stages - 1 : r->stages));/' \
    "a ring of buffers skips its last slot on one side"
fault exchange_of_registers codegen/select_convert.c 's/old\[\(uint32_t\)i \^ step\[b\]\], old\[i\]/old[i], old[(uint32_t)i ^ step[b]]/' \
    "a conversion by shuffles takes the other register"
fault load_under_mask codegen/select_memory.c 's/bool partly = guard\.kind == OPND_reg && l->needs_other;/bool partly = false;/' \
    "what a masked load gives where it is off is what was in the register"
fault sign_of_small codegen/select_cast.c '/^static struct opnd widen_int/,/^}/s/source_type\(from, with_sign\)/source_type(from, true)/' \
    "unsigned numbers are widened with a sign"
fault reduce_of_copies opt/cross.c 's/uint32_t idle = layout_free_bits\(l, IN_lane\);/uint32_t idle = 0;/' \
    "lanes that repeat others are counted again"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
