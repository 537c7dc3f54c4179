#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/gpu.sh PART: runs tests and measurements that need a GPU. Each part takes less than eight minutes:
#
#   tests    build; every test program on the GPU, on the interpreter, and, where marked, under Python with the original
#            Triton, compiled and interpreted (tests/gpu/interpret.py)
#   bench [GROUP...]   every row of the README's tables, compared with cuBLAS, PyTorch, Triton and PTX written by hand: announced, layouts,
#            types, decode, softmax, norms, add (bench/peers/bench.py); it must be the last part on the command line
#   worth    the gain of each transformation: kernels with and without it
#   users    kernels in the style of users (bench/programs/users.py), under neso and under Triton
#   uneven [GROUP...]   products of uneven rows, decoding from pages, weights of 4 bits, of neso, Triton and cuBLAS; times of the assembler
#   rows     row-wise and elementwise kernels (bench/programs/rows.py), of neso, Triton, PyTorch, and a copy; VARIANTS adds others
#   mma      a matmul with the instructions of GPUs before Hopper (mma.sync, cp.async), for neso and for Triton
#   random   2,000 random dots against a float64 oracle; 1,000 random kernels compared with the interpreter and the emulator
#   insns    every PTX instruction that neso emits, on the GPU and in the emulator, against the PTX ISA
#   bits     every test program on the emulator and on the GPU: after each launch, the bits of each tensor are equal; a line "# bits: WHY" in a
#            program, among its first five lines, gives the reason why its bits may differ
#   interpreter   times of a launch in neso's interpreter and in Triton's
#   counts   the emulator's counts compared with ncu's: sectors, wavefronts, tensor instructions, barriers (needs ncu)
#   embed    C code of `--emit c` with the driver alone, and the time that neso adds to a launch by the driver
#   gate     verdicts of neso bench: none of 200 calls is slower than itself, and 19 of 20 calls with 3 % more work are slower
#   sass     disassembly of the kernels that the benches measure (needs nvdisasm)
#
# Results go to the folder $OUT if it is set, else to build/gpu. The last line is `N passed, N failed`.
set -u
cd "$(dirname "$0")/.." || exit 2
out=${OUT:-build/gpu}
mkdir -p "$out"
python=$(command -v python3)
export CFLAGS="-O2 -g"
make -s -j"$(nproc)" all build/gpu_ops build/gpu_dots build/gpu_insns build/random_kernels build/bench/launch >"$out/make.log" 2>&1 || { tail -n 40 "$out/make.log"; exit 1; }
neso=build/neso
passed=0 failed=0

try() { # NAME SECONDS COMMAND...: runs a command; it must exit with the code that the last argument (a file) states, else with 0
    local name=$1 seconds=$2 started=$SECONDS log=$out/log.$BASHPID want got; shift 2
    want=$(sed -nE 's/^# expect: exit ([0-9]+).*/\1/p' "${@: -1}" 2>/dev/null | head -n 1)
    timeout "$seconds" "$@" >"$log" 2>&1
    got=$?
    mv "$log" "$out/last"
    [ $got = "${want:-0}" ] && return
    echo "FAILED $name (exit $got, $((SECONDS - started)) s)"; tail -n 25 "$out/last" | cut -c1-300
    return 1
}
check() { try "$@" && passed=$((passed + 1)) || failed=$((failed + 1)); }

# Like `try`, but runs the command in the background, with one process on each core. `gather` waits for all processes
# and counts the results.
beside() {
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    { try "$@"; echo $? >>"$out/results"; } &
}
gather() {
    wait
    passed=$((passed + $(grep -c '^0' "$out/results"))) failed=$((failed + $(grep -c '^1' "$out/results")))
    rm -f "$out/results"
}

marked() { sed -nE '1s/^# runs: *//p' "$1" | sed -E 's/[(;].*//' | tr ' ' '\n' | grep -qx -- "$2"; } # compares whole words: "triton" does not match "triton-interpret"

part_tests() {
    "$neso" doctor
    for f in tests/programs/*.py; do
        marked "$f" triton && beside "triton $f" 180 "$python" "$f"
        marked "$f" triton-interpret && beside "triton-interpret $f" 240 "$python" tests/gpu/interpret.py "$f"
        marked "$f" cuda && beside "cuda $f" 120 "$neso" run --device cuda "$f"
        marked "$f" interpreter && beside "interpreter $f" 120 "$neso" run --device interpreter "$f"
    done
    gather
    check "every op against the interpreter" 240 build/gpu_ops
    grep -E '^refused|kinds refused' "$out/last" | tail -n 40
}

part_bench() { # GROUP...: writes each row to bench.json at once; prints missed goals, which are not failures
    timeout 470 "$python" bench/peers/bench.py "$out/bench.json" "$@" && passed=$((passed + 1)) || failed=$((failed + 1))
}

part_worth() { timeout 300 "$python" bench/peers/worth.py "$out/worth.json" && passed=$((passed + 1)) || failed=$((failed + 1)); }

part_users() { timeout 460 "$python" bench/peers/users.py "$out/users.txt" "$neso" && passed=$((passed + 1)) || failed=$((failed + 1)); }

part_uneven() { # GROUP...: products, pages, weights; then the times of the assembler
    timeout 300 "$python" bench/peers/uneven.py "$out/uneven.json" "$@" && passed=$((passed + 1)) || failed=$((failed + 1))
    timeout 120 "$python" bench/peers/assembly.py "$neso" && passed=$((passed + 1)) || failed=$((failed + 1))
}

part_rows() { # WORD...: the kernels whose names contain a WORD
    timeout 400 "$python" bench/peers/lanes.py "$out/rows.json" "$@" && passed=$((passed + 1)) || failed=$((failed + 1))
}

part_mma() { # compiles for GPUs before Hopper, in neso and in Triton: no wgmma, no TMA
    TRITON_OVERRIDE_ARCH=sm80 timeout 300 "$python" bench/peers/bench.py "$out/mma.json" mma && passed=$((passed + 1)) || failed=$((failed + 1))
}

part_random() { # one process for each core, because the assembler takes most of the time
    local i n; n=$(nproc)
    for ((i = 0; i < n; i++)); do
        timeout 400 build/gpu_dots cuda $((2000 * (i + 1) / n)) from $((2000 * i / n)) >"$out/dots$i" 2>&1 &
    done
    wait
    grep -h FAILED "$out"/dots* | head -n 12
    awk '/passed,/ {p += $1; f += $3} END {print p " random dots passed, " f " failed"; exit p < 1900 || f}' "$out"/dots* &&
        passed=$((passed + 1)) || failed=$((failed + 1))
    timeout 300 build/random_kernels 1000 ${SEED:-} cuda jobs="$n" out="$out/random" >"$out/kernels" 2>&1 && passed=$((passed + 1)) ||
        failed=$((failed + 1))
    tail -n 40 "$out/kernels" | cut -c1-200
}

verdicts() { # FILE VERDICT: prints how often the verdict occurs
    "$python" -c 'import json, sys; print(sum(r["verdict"] == sys.argv[2] and r["kind"] == "time" for r in json.load(open(sys.argv[1]))["rows"]))' "$1" "$2"
}

part_gate() {
    local slower=0 found i=0 one="$out/one"
    printf '#!/bin/sh\nFACTOR=1 exec %s "$@"\n' "$PWD/$neso" >"$one" && chmod +x "$one"
    "$neso" bench bench/programs/gate.py --record "$out/gate.txt" >"$out/last" 2>&1 || { tail -n 25 "$out/last"; failed=$((failed + 1)); return; }
    for i in 1 2 3 4 5; do # compares builds alternately, and twice with a file
        if [ "$i" -le 3 ]; then base=(--against "$one"); else base=(--baseline "$out/gate.txt"); fi
        "$neso" bench bench/programs/gate.py "${base[@]}" --blind --json "$out/aa$i.json" --svg "$out/aa$i.svg" >"$out/aa$i.log" 2>&1
        slower=$((slower + $(verdicts "$out/aa$i.json" SLOWER)))
        echo "A/A $i: $(tail -n 1 "$out/aa$i.log")"
    done
    FACTOR=1.03 "$neso" bench bench/programs/gate.py --against "$one" --blind --json "$out/ab.json" --svg "$out/ab.svg" >"$out/ab.log" 2>&1
    found=$(verdicts "$out/ab.json" SLOWER)
    echo "3 % more work: $(tail -n 1 "$out/ab.log")"; cut -c1-110 "$out/ab.log"
    [ "$slower" = 0 ] && passed=$((passed + 1)) || { echo "FAILED: $slower of 200 are slower than themselves"; failed=$((failed + 1)); }
    [ "$found" -ge 38 ] && passed=$((passed + 1)) || { echo "FAILED: 3 % found in $found of 40"; failed=$((failed + 1)); }
}

part_insns() { check "every instruction" 200 build/gpu_insns cuda; cat "$out/last"; }

bits_of() { # FILE: compares the digests of both devices
    local prefix=$out/bits/${1##*/} device
    for device in emulator cuda; do
        timeout 150 "$neso" run --device $device --digests="$prefix.$device" "$1" >"$prefix.$device.log" 2>&1 || { echo "exit $? on $device"; return 1; }
    done
    local n; n=$(wc -l <"$prefix.emulator")
    head -n "$n" "$prefix.cuda" >"$prefix.both" # on a GPU, some programs launch more kernels at their end
    echo "$n launches"
    diff "$prefix.emulator" "$prefix.both" | head -n 4 | cut -c1-200
    cmp -s "$prefix.emulator" "$prefix.both"
}

part_bits() {
    local f; mkdir -p "$out/bits"
    for f in tests/programs/*.py; do
        marked "$f" cuda && marked "$f" emulator && ! head -n 5 "$f" | grep -q '^# bits: ' || continue
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
        { bits_of "$f" >"$out/bits/${f##*/}.found" 2>&1; echo $? >>"$out/results"; } &
    done
    wait
    for f in "$out"/bits/*.found; do [ "$(wc -l <"$f")" = 1 ] || { echo "${f##*/}"; cat "$f"; }; done
    awk '/launches$/ { n += $1 } END { print n " launches compared" }' "$out"/bits/*.found
    gather
}

part_interpreter() {
    echo "neso's interpreter:"; check "neso's interpreter" 60 "$neso" run --device interpreter bench/programs/interpreter.py; cat "$out/last"
    echo "TRITON_INTERPRET=1:"; check "Triton's interpreter" 120 env TRITON_INTERPRET=1 "$python" bench/programs/interpreter.py; cat "$out/last"
}

part_counts() { "$python" bench/peers/counts.py "$out/counts" "$neso" && passed=$((passed + 1)) || failed=$((failed + 1)); }

part_embed() { # links with the driver's library alone, as C and as C++
    local flags=(-Wall -Wextra -Werror -pedantic -I"$out" tests/gpu/emitted.c "$out/product.c")
    local libcuda; libcuda=$(ldconfig -p | awk '/libcuda.so.1 .*x86-64/ {print $NF; exit}')
    check "emitted C is written" 60 "$neso" compile tests/gpu/emitted.py \
        --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32, i32, i32, i32, 128, 256, 64' --num-warps 8 --emit c -o "$out/product"
    check "emitted C builds" 60 gcc -std=c11 "${flags[@]}" "$libcuda" -o "$out/emitted"
    check "emitted C" 60 "$out/emitted"; cat "$out/last"
    check "emitted C builds as C++" 60 g++ -std=c++17 -x c++ "${flags[@]}" -x none "$libcuda" -o "$out/emitted++"
    check "emitted C as C++" 60 "$out/emitted++"
    check "launches" 60 build/bench/launch; cat "$out/last"
}

part_sass() {
    local k signature
    while IFS='|' read -r k signature; do
        "$neso" compile "bench/programs/kernels.py::$k" --signature "$signature" --emit sass -o "$out/$k.sass" &&
            { echo "== $k"; grep -cE '^\s+/\*[0-9a-f]{4}\*/' "$out/$k.sass"; }
    done <<'LIST'
announcement_add|*fp32:16, *fp32:16, *fp32:16, i32:16
announcement_softmax|*fp32:16, i32:16, 1, *fp32:16, i32:16, 1, i32:16, i32:16
LIST
}

for part in "${@:-tests}"; do
    shift
    case $part in
    bench | rows | uneven) "part_$part" "$@"; break ;;
    tests | worth | users | mma | random | insns | bits | interpreter | counts | embed | gate | sass) "part_$part" ;;
    *) echo "usage: tests/gpu.sh [tests|bench [GROUP...]|rows [WORD...]|uneven [GROUP...]|worth|users|mma|random|insns|bits|interpreter|counts|embed|gate|sass]..." >&2; exit 2 ;;
    esac
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
