# SPDX-License-Identifier: MIT
# Tests every row of insns.h, in every form that neso emits: the emulator's results agree with the PTX ISA. tests/gpu.sh runs the same
# test on a GPU.
"$NESO_ROOT/$NESO_BUILD/gpu_insns" >out 2>&1
status=$?
tail -n 1 out
[ $status = 0 ] || grep -E "FAILED|NOT TESTED|^ " out | head -n 40
exit $status
