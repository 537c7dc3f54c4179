#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/ci/gate.sh NESO BASELINE PROGRAM.py...: fails if the costs of a kernel of these programs are higher than in BASELINE.
#
# The script needs no GPU: it compiles the kernels, counts the costs of their launches in the emulator, and compares
# costs by the rules that `neso help bench` lists. Record the baseline on the machine that runs this script, with the
# same version of ptxas, or without ptxas:
#
#     neso bench --counts --record BASELINE PROGRAM.py...
#
# Exit status: 0 nothing is slower; 1 something is slower, or a bound is broken; 2 bad usage, or a program failed; 4 a
# kernel of the baseline is missing. The script prints undecided verdicts (growth within the rules' bounds), but they do not make it fail.
set -u
[ $# -ge 3 ] || { echo "usage: gate.sh NESO BASELINE PROGRAM.py..." >&2; exit 2; }
neso=$1 baseline=$2
shift 2
"$neso" bench --counts --baseline "$baseline" ${GITHUB_STEP_SUMMARY:+--markdown "$GITHUB_STEP_SUMMARY"} "$@"
status=$?
[ $status != 3 ] || status=0
exit $status
