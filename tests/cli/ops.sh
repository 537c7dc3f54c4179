# SPDX-License-Identifier: MIT
# Compares every elementwise op on every type, as PTX in the emulator, with the interpreter: bit for bit, or within the language's bounds.
NESO_OPS_DEVICE=emulator "$NESO_ROOT/$NESO_BUILD/gpu_ops" >out 2>&1
got=$?
grep -v '^refused' out | tail -n 20
[ $got = 0 ] || exit $got
# Casts for a target that has no conversions of fp8.
NESO_OPS_DEVICE=emulator NESO_OPS_TARGET=sm_80 "$NESO_ROOT/$NESO_BUILD/gpu_ops" fext ftrunc >out 2>&1 || { tail -n 20 out; exit 1; }
