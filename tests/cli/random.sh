# SPDX-License-Identifier: MIT
# Tests random kernels: the interpreter and the emulator agree, and ptxas (if it is installed) accepts a sample. The seed is a digest of the
# compiler's sources, so that a changed compiler is tested with different kernels, and an unchanged compiler with the same kernels. The test
# prints the seed; build/random_kernels N SEED repeats a run. With sanitizers, which are slow, it runs fewer kernels; with EVERY, more.
set -u
cd "$NESO_ROOT" || exit 1
count=120
[ "$NESO_BUILD" = build ] || count=15
[ -z "${EVERY:-}" ] || count=1000
command -v ptxas >/dev/null && ptxas=ptxas || ptxas=
digits=$(sed -n 's/.*compiler_build.*"\([0-9a-f]\{9\}\).*/\1/p' "$NESO_BUILD/build_id.c")
timeout 600 "$NESO_BUILD/random_kernels" "${N:-$count}" "${SEED:-$((0x${digits:-0} * 1000))}" $ptxas out="$(mktemp -d)"
