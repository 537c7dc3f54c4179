# Every element-wise op on every type: its PTX in the emulator against the interpreter, bit for bit or within the language's bounds.
NESO_OPS_DEVICE=emulator "$NESO_ROOT/$NESO_BUILD/gpu_ops" >out 2>&1
got=$?
grep -v '^refused\|^op-unsupported' out | tail -n 20
exit $got
