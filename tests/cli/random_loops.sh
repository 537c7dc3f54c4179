# SPDX-License-Identifier: MIT
# Tests random loops of dots (tests/random/loops.py): the interpreter and the emulator print the same. The seed is a digest of the compiler's
# sources, as in random.sh. Needs python3.
set -u
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
count=24
[ "$NESO_BUILD" = build ] || count=3
[ -z "${EVERY:-}" ] || count=1000
digits=$(sed -n 's/.*compiler_build.*"\([0-9a-f]\{9\}\).*/\1/p' "$NESO_ROOT/$NESO_BUILD/build_id.c")
python3 "$NESO_ROOT/tests/random/loops.py" "$NESO" "${N:-$count}" "${SEED:-$((0x${digits:-0} * 1000))}" >out 2>&1 || { tail -n 60 out; exit 1; }
