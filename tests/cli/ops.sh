# SPDX-License-Identifier: MIT
# Every element-wise op on every type: its PTX in the emulator against the interpreter, bit for bit or within the language's bounds.
NESO_OPS_DEVICE=emulator "$NESO_ROOT/$NESO_BUILD/gpu_ops" >out 2>&1
got=$?
grep -v '^refused' out | tail -n 20
[ $got = 0 ] || exit $got
# Casts of a target without conversions of fp8.
NESO_OPS_DEVICE=emulator NESO_OPS_TARGET=sm_80 "$NESO_ROOT/$NESO_BUILD/gpu_ops" fext ftrunc >out 2>&1 || { tail -n 20 out; exit 1; }
