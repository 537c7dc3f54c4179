# SPDX-License-Identifier: MIT
# Tests the PTX of the vector addition in Triton's announcement. If n is promised to be divisible by 16, one predicate guards each vector
# access, and the kernel has at most as many instructions as the listing in the announcement (23). Without the promise, a thread uses a
# vector access if all of its elements are in bounds.
set -u
cd "$NESO_ROOT" || exit 1
status=0 work=$(mktemp)
compile() { "$NESO" compile tests/programs/announcement_add.py::add --signature "*i32:16, *i32:16, *i32:16, $1"; }
instructions() { grep -cE '^[[:space:]]*(@!?%p[0-9]+ )?[a-z][a-z0-9_.]*[[:space:]].*;$|^[[:space:]]*ret;$' | cat; }
body() { sed -n '/^{/,/^}/p' | grep -vE '^[[:space:]]*\.'; }

n=$(compile i32:16 | body | instructions)
[ "$n" -le 23 ] || { echo "$n instructions, the announcement has 23"; status=1; }
compile i32:16 | body | grep -E '(ld|st)\.global' >"$work"
[ "$(wc -l <"$work")" = 3 ] && [ "$(grep -cE '^\s*@%p1 (ld|st)\.global\.v4\.' "$work")" = 3 ] ||
    { echo "expected three vector accesses under one predicate:"; cat "$work"; status=1; }
rm -f "$work"
[ "$(compile i32 | body | grep -cE 'global\.v4\.')" = 3 ] || { echo "with a plain n: expected three vector accesses"; status=1; }
exit $status
