#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/random/faults.sh [NAME...]: tests that random kernels find faults in the
# compiler. The script inserts each fault below (or each named fault) into a copy of the compiler, and runs random
# kernels until a kernel fails only with the fault, or until N kernels (2,000) have run. Run the script manually; it
# needs half an hour of one core. FIRST is the first seed, ARGS are additional arguments of random_kernels, JOBS is
# the number of faults tested at once, each on one core. CHECK=1 finds faults only by the library's option `check`,
# and compares the pass that `check` names with the fault's pass (pass_of). Two more lines then show how often the two
# passes agree, and the median time of a check. The last line is `N passed, N failed`.
set -u
cd "$(dirname "$0")/../.." || exit 2
first=${FIRST:-7000000} count=${N:-2000} at_once=${JOBS:-$(nproc)}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
make -s -j"$(nproc)" build/random_kernels || exit 1
mkdir "$work/tree" || exit 2
{ find Makefile tests/rules.mk {.,build}/{ir,frontend,opt,codegen,runtime,tests/random} -type f
  echo build/random_kernels; echo build/inner.a; ls build/build_id.*; } | tar -cf - -T - | tar -xf - -C "$work/tree"
cp build/random_kernels "$work/sound"
names=() wanted=" $* "

# The pass or stage into which each fault is inserted. Faults in the choice of instructions are in `select`.
declare -A pass_of=([loop_counter]=coalesce [no_barrier]=insert_barriers [swizzle_of_wgmma]=legalize_dot [mask_of_vector]=vectorize
    [stale_stage]=pipeline_loops [swapped_operands]=fold [wrong_fold]=fold [cse_across_store]=cse [licm_of_load]=licm
    [alignment_of_sum]=vectorize [schedule_past_store]=schedule [phase_of_ring]=warp_specialize [end_of_while]=insert_barriers
    [grid_total]=persistent_grid [fused_not]=peephole [shift_of_sum]=peephole [offset_of_address]=peephole [remainder_of_power]=fold [minus_constant]=peephole [least_of_zero]=fold
    [rest_of_unrolled]=unroll [any_predicate]=cse)

find_by_check() { # NAME FIRST-SEED: finds the first kernel that the check reports only with the fault
    local at=$2 end=$(($2 + count)) line seed pass wanted=${pass_of[$1]:-select}
    while [ "$at" -lt "$end" ]; do
        build/random_kernels $((end - at)) "$at" check first jobs=1 >checks 2>&1
        cat checks >>"$work/$1.checks"
        seed=$(sed -nE '/^FAILED: /{s/^FAILED: ([0-9]+) .*/\1/p;q}' checks)
        [ -n "$seed" ] || break
        if ! grep -q '^check differs' checks; then at=$((seed + 1)); continue; fi
        if "$work/sound" 1 "$seed" check jobs=1 2>&1 | grep -q '^0 passed'; then at=$((seed + 1)); continue; fi
        line=$(sed -nE '/^check differs/{s/^check differs [^:]*: //p;q}' checks)
        pass=${line%% *}
        [ "$pass" = "$wanted" ] && echo named >"$work/$1.named"
        printf 'yes %-24s after %5d, named %s (%s): %.100s\n' "$1" $((seed - $2 + 1)) "${pass:-no pass}" "$wanted" "${line#* }"
        return
    done
    printf 'no %-24s NOT REPORTED\n' "$1"
}

failure() { # PROGRAM SEED COUNT: prints the first failure as `SEED TEXT`, or nothing
    # shellcheck disable=SC2086
    "$1" "$3" "$2" first quick jobs=1 ${ARGS:-} 2>&1 | sed -nE '/^FAILED/{s/^FAILED: ([0-9]+) (.*)/\1 \2/p;q}'
}

look() { # NAME FILE SED WHAT: inserts the fault into a copy of the tree; prints `yes` or `no`, and a line
    local at=$first end=$((first + count)) found seed
    cd "$work/$1" || return
    sed -i -E "$3" "$2"
    if cmp -s "$2" "$work/tree/$2"; then
        printf 'no %-24s %s has changed: the fault does not apply\n' "$1" "$2"; return
    fi
    if ! make -s build/random_kernels >log 2>&1; then
        printf 'no %-24s does not build: %s\n' "$1" "$(grep -m 1 error log)"; return
    fi
    [ -z "${CHECK:-}" ] || { find_by_check "$1" "$at"; return; }
    while [ "$at" -lt "$end" ]; do
        found=$(failure build/random_kernels "$at" $((end - at)))
        seed=${found%% *}
        [ -n "$seed" ] || break
        if [ -z "$(failure "$work/sound" "$seed" 1)" ]; then
            printf 'yes %-24s after %5d: %.120s\n' "$1" $((seed - first + 1)) "$(sed -E 's/.*: ([a-z]+.*)/\1/' <<<"$found")"
            return
        fi
        at=$((seed + 1))
    done
    printf 'no %-24s NOT FOUND: %s\n' "$1" "$4"
}

fault() { # NAME FILE SED WHAT
    [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]] || return
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
    names+=("$1")
    { cp -a "$work/tree" "$work/$1"; look "$@" >"$work/$1.line"; cut -d' ' -f 2- "$work/$1.line"; rm -rf "${work:?}/$1"; } &
}

fault loop_counter codegen/regalloc.c 's/s->from <= source->defs/s->from < source->defs/' \
    "a copy and its source share a register although the source changes first in a block"
fault no_barrier opt/memory/insert_barriers.c 's/\(x->writes \|\| y->writes\) && x->start/y->writes \&\& x->start/' \
    "no barrier between a read of shared memory and the write that follows"
fault swizzle_of_wgmma ir/target/wgmma.c 's/(v->swizzle = codes\[swizzle_bits\(width\))\]/\1 == 3 ? 2 : swizzle_bits(width)]/' \
    "tensor cores read another swizzle than copies wrote"
fault mask_of_vector opt/layout/vectorize.c 's/if \(mask < width\)/if (2 * mask < width)/' \
    "a vector of which half is masked is loaded and stored whole"
fault stale_stage opt/pipeline/pipeline_loops.c 's/build_wait\(p, &b, p->nstages - 2\)/build_wait(p, \&b, p->nstages - 1)/' \
    "a pipeline waits for one copy too few"
fault lane_of_reduce codegen/select/reduce.c 's/INT64_C\(1\) << bit\)\)/INT64_C(1) << (bit == 2 ? 1 : bit)))/' \
    "a reduction asks the wrong lane"
fault swapped_operands ir/ops.h '/^OP\(sub, /s/PURE\|ELEMENTWISE/PURE|ELEMENTWISE|COMMUTES/' \
    "x - y is taken for y - x"
fault bound_of_mask codegen/select/gather.c 's/MOD_lt\), bin, nbins/MOD_le), bin, nbins/' \
    "a histogram counts one value too many"
fault wrong_fold opt/simplify/fold.c 's/case OP_divu: return power \? build_binary\(b, OP_shru/case OP_divs: case OP_divu: return power ? build_binary(b, OP_shru/; /case OP_divs: return is_constant\(y, ONES\)/d' \
    "a signed division by a power of two is a shift"
fault cast_rounding codegen/select/cast.c 's/round == ROUND_rz \? MOD_rz : MOD_rn\), x\);/MOD_rz), x);/' \
    "f32 to f16 and bf16 is cut off"
fault cse_across_store opt/simplify/cse.c 's/e->hash == hash && e->nwrites == nwrites/e->hash == hash \&\& nwrites >= 0/' \
    "a load is taken for the same load before a store"
fault licm_of_load opt/simplify/licm.c 's/o->nresults > 0 && is_pure\(o\)/o->nresults > 0 \&\& (is_pure(o) || (o->code == OP_load \&\& !op_opnd(o, 1)))/' \
    "a load leaves a loop that stores to the same place"
fault alignment_of_sum opt/analysis/axis_info.c '/^static void rule_or/,/^}/s/set_divisible\(r, d, least\(/set_divisible(r, d, most(/' \
    "x | y is taken to be as aligned as the better of both"
fault atomics_of_copies codegen/select/atomic.c 's/(struct opnd owner = )emit_is_owner\(s, l\), \*tile/\1{.kind = OPND_none}, *tile/' \
    "threads that hold the same element all do its atomic"
fault scan_across_lanes codegen/select/scan.c '/^static struct opnd lane_before/,/^}/s/x->lane_mask\)\);/x->lane_mask \& ~UINT32_C(16)));/' \
    "the second half of a warp goes on from the wrong lane"
fault fragment_of_mma codegen/select/dot.c 's/(n \+= matrix_words\(s, g, b, DOT_b, at, x \+ n\);)/\1 { struct opnd last = x[n - 1]; x[n - 1] = x[n - 2]; x[n - 2] = last; }/' \
    "the last two registers of B change places"
fault schedule_past_store codegen/schedule.c 's/add_edge\(s, o->last_write, at, 1\);/if (writes) add_edge(s, o->last_write, at, 1);/' \
    "a load comes before the store that it follows"
fault phase_of_ring opt/pipeline/warp_specialize.c '/^static void copy_take/,/^}/s/advance\(b, r\);/ring_advance(b, r->stages > 2 ? r->stages - 1 : r->stages, \&r->stage, \&r->phase);/' \
    "a ring of buffers skips its last stage on one side"
fault exchange_of_registers codegen/select/convert.c 's/old\[\(uint32_t\)i \^ step\[b\]\], old\[i\]/old[i], old[(uint32_t)i ^ step[b]]/' \
    "a conversion by shuffles takes the other register"
fault load_under_mask codegen/select/memory.c 's/bool partly = guard\.kind == OPND_reg && l->needs_other;/bool partly = false;/' \
    "what a masked load gives where it is off is what was in the register"
fault sign_of_small codegen/select/cast.c '/^static struct opnd widen_int/,/^}/s/source_type\(from, with_sign\)/source_type(from, true)/' \
    "unsigned numbers are widened with a sign"
fault reduce_of_copies codegen/select/reduce.c '/^static uint32_t lanes_of_axis/,/^}/s/if \(free_bits >> i & 1 \|\| !\(v & r->axis_mask\)\)/if (!(free_bits >> i \& 1) \&\& !(v \& r->axis_mask))/' \
    "lanes that repeat others are counted again"
fault end_of_while opt/memory/insert_barriers.c '/^static void walk_rounds/,/^}/s/if \(i == 0\)/if (i == o->nregions - 1)/' \
    "what a while's condition reads is forgotten behind its body's barrier"
fault grid_total opt/grid/persistent_grid.c 's/OP_mul, total, n\[axis\]/OP_add, total, n[axis]/' \
    "a persistent CTA runs programs beyond the grid"
fault fused_not codegen/fuse.c 's/\[MOD_eq\] = MOD_ne/[MOD_eq] = MOD_eq/' \
    "the contrary of x == y is x == y"
fault offset_of_address codegen/peephole.c 's/at->i \+ add->opnds\[2\]\.i;/add->opnds[2].i;/' \
    "an address forgets its own offset"
fault remainder_of_power opt/simplify/fold.c '/case OP_remu: return power/s/bits - 1/bits - 2/' \
    "x % 8 is x & 6"
fault shift_of_sum codegen/simplify.c 's/\(uint64_t\)c\.i \* factor/(uint64_t)c.i + 0 * factor/' \
    "(x + c) << k is x << k plus c"
fault minus_constant codegen/simplify.c '/^static bool simplify_sub/,/^}/s/0 - \(uint64_t\)in/(uint64_t)in/' \
    "x - c is x + c"
fault least_of_zero opt/simplify/fold.c 's/\{OP_minu, ZERO, GIVES_y\}/{OP_minu, ZERO, GIVES_x}/' \
    "the least of x and 0 is x"
fault rest_of_unrolled opt/simplify/unroll.c 's/\*left = \*rounds % factor;/*left = 0 * (*rounds % factor);/' \
    "an unrolled loop runs to a multiple of its factor"
fault any_predicate opt/simplify/cse.c 's/ \+ \(uint64_t\)o->attrs\[i\]\.i;/;/; s/ && attrs_equal\(a, b\)//' \
    "comparisons with different predicates are equal"

wait
passed=0 failed=0
for name in ${names[@]+"${names[@]}"}; do
    read -r found _ <"$work/$name.line"
    if [ "$found" = yes ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
if [ -n "${CHECK:-}" ]; then
    echo "the pass is named for $(find "$work" -maxdepth 1 -name '*.named' | wc -l)"
    cat "$work"/*.checks | sed -nE 's/^check (agrees|differs) ([0-9.]+) ms.*/\2/p' | sort -n |
        awk '{ x[NR] = $1 } END { printf "%d checks, median %.1f ms, 9 of 10 below %.1f ms\n", NR, x[int((NR + 1) / 2)], x[int(NR * 0.9)] }'
fi
echo "seeds $first to $((first + count - 1))"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
