# SPDX-License-Identifier: MIT
# Compares random dots (tests/gpu/dots.c) with a float64 oracle, in the interpreter and in the emulator, for targets whose tensor cores
# support fp8, and for targets whose tensor cores do not.
status=0
for device in interpreter emulator emulator/sm_80 emulator/sm_89; do
    "$NESO_ROOT/$NESO_BUILD/gpu_dots" "$device" 60 small >out 2>&1 || { cat out; status=1; }
done
exit $status
