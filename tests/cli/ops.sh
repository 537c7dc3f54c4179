# SPDX-License-Identifier: MIT
# Compares every elementwise op on every type, as PTX in the emulator, with the interpreter. Results must be equal bit for bit, or within
# the error bounds of the language.
NESO_OPS_DEVICE=emulator "$NESO_ROOT/$NESO_BUILD/gpu_ops" >out 2>&1
got=$?
grep -v '^refused' out | tail -n 20
[ $got = 0 ] || exit $got
# Tests casts for a target without instructions that convert fp8.
NESO_OPS_DEVICE=emulator NESO_OPS_TARGET=sm_80 "$NESO_ROOT/$NESO_BUILD/gpu_ops" fext ftrunc >out 2>&1 || { tail -n 20 out; exit 1; }
