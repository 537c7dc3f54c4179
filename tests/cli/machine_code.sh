# SPDX-License-Identifier: MIT
# Tests the check of assembled kernels that tests/run makes (tests/machine_code.c): it must reject machine code that lacks a shuffle, a
# barrier or a store of the PTX.
command -v ptxas >/dev/null || exit 77
counted=$NESO_ROOT/$NESO_BUILD/machine_code status=0
cat >all.ptx <<'END'
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<2>;
	ld.param.u64	%rd1, [k_param_0];
	mov.u32	%r1, %tid.x;
	shfl.sync.bfly.b32	%r2, %r1, 1, 31, -1;
	shfl.sync.bfly.b32	%r3, %r2, 2, 31, -1;
	st.global.b32	[%rd1], %r1;
	st.global.b32	[%rd1], %r3;
	bar.sync	0;
	st.global.b32	[%rd1+4], %r2;
	setp.ge.s32	%p1, %r1, %r1;
	@%p1 bra	$L1;
	bar.sync	0;
$L1:
	ret;
}
END
ptxas -arch=sm_90a all.ptx -o all.cubin || exit 1
"$counted" all.ptx all.cubin || { echo "something is said to be missing"; status=1; }
sed -E 's/^\s+(shfl\.sync\.bfly\.b32\s+%r3, )%r2, 2, 31, -1;/\tmov.b32 %r3, %r2;/; /^\s*bar\.sync/d; /\[%rd1\+4\]/d' all.ptx >less.ptx
ptxas -arch=sm_90a less.ptx -o less.cubin || exit 1
"$counted" all.ptx less.cubin >found && { echo "nothing is said to be missing"; status=1; }
printf '%s: %s in the PTX, %s in the machine code\n' barriers 1 0 >expected
diff expected found || status=1
# Shuffles and stores are checked only in kernels with wgmma.
{ cat all.ptx; echo '// wgmma.mma_async'; } >with.ptx
"$counted" with.ptx less.cubin >found
printf '%s: %s in the PTX, %s in the machine code\n' shuffles 2 1 barriers 1 0 stores 2 1 >expected
diff expected found || status=1
exit $status
