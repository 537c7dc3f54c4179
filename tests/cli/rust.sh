# SPDX-License-Identifier: MIT
# Tests the Rust crate: the program in the manual runs, a launch refuses arguments of wrong number or type, errors contain the library's
# messages, and the crate has fewer than 200 lines.
fail=0
say() { echo "$*"; fail=1; }
[ "$NESO_BUILD" = build ] || exit 0
crate=$NESO_ROOT/runtime/bindings/rust
lines=$(cat "$crate"/build.rs "$crate"/src/lib.rs | wc -l)
[ "$lines" -lt 200 ] || say "the crate has $lines lines"
command -v cargo >/dev/null || { echo "NOT TESTED: no cargo"; exit $fail; }
mkdir -p lib user/src user/tests
cp "$NESO_ROOT/$NESO_BUILD/libneso.so" lib && ln -s libneso.so lib/libneso.so.0
export NESO_LIB_DIR=$PWD/lib LD_LIBRARY_PATH=$PWD/lib CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=$PWD/target
awk '/^<!-- file: / { name = $3; next } name == "main.rs" && /^```/ { if (on) exit; on = 1; next } on' \
    "$NESO_ROOT/runtime/manual/embedding.md" >user/src/main.rs
printf '[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nneso = { path = "%s" }\n' "$PWD/crate" >user/Cargo.toml
cp -r "$crate" crate # a copy, because cargo writes a lock file into the folder
cat >user/tests/launches.rs <<'RUST'
use neso::{Context, Number, Result, Value};
const SOURCE: &str = "
import triton
import triton.language as tl

@triton.jit
def add(X, n, a, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + i, tl.load(X + i, mask=i < n) + a, mask=i < n)
";

fn launch<T: Number>(device: &str, types: &str, one: T, a: &dyn Value) -> Result<Vec<T>> {
    let context = Context::new(device)?;
    let kernel = context.module("add.py", SOURCE)?.compile("add", types, None)?;
    let x = context.buffer(&[one; 100])?;
    unsafe { kernel.launch([2, 1, 1], &[&x, &100i32, a])? };
    x.read()
}

#[test]
fn types() -> Result<()> {
    for device in ["interpreter", "emulator"] {
        assert_eq!(launch(device, "*fp32, i32, fp32, 64", 1f32, &2f32)?, [3f32; 100]);
        assert_eq!(launch(device, "*fp64, i32, fp64, 64", 1f64, &2f64)?, [3f64; 100]);
        assert_eq!(launch(device, "*i64, i32, i64, 64", 1i64, &2i64)?, [3i64; 100]);
        assert_eq!(launch(device, "*u8, i32, i8, 64", 1u8, &2i8)?, [3u8; 100]);
        assert_eq!(launch(device, "*fp16, i32, fp32, 64", 0x3c00u16, &2f32)?, [0x4200u16; 100]);
        let wrong = |types, a: &dyn Value| launch(device, types, 1f32, a).unwrap_err().text;
        assert_eq!(wrong("*fp32, i32, fp32, 64", &2f64), "'a' is fp32, and got fp64");
        assert_eq!(wrong("*i32, i32, fp32, 64", &2f32), "'X' is *i32, and got *fp32");
        assert_eq!(wrong("*fp32, i32, 2.0, 64", &2f32), "the kernel takes 2 values, and got 3");
        assert!(wrong("*fp32:16, i32:16, fp32, 64", &2f32).ends_with("[promise-broken]"));
    }
    Ok(())
}

#[test]
fn errors() -> Result<()> {
    assert!(Context::new("nosuch").err().unwrap().text.contains("nosuch"));
    let context = Context::new("")?;
    let module = context.module("add.py", SOURCE)?;
    let e = module.compile("add", "*fp32", None).err().unwrap();
    assert!(e.status == 1 && e.text.contains("[signature-missing]"), "{e}");
    assert!(module.compile("add", "*fp32, i32, fp32, 64", Some("sm_80"))?.ptx()?.contains(".target sm_80"));
    assert!(context.module("a\0b", "").is_err());
    Ok(())
}
RUST
(cd user && cargo run -q) >out 2>err || say "the manual's program: $(cat err)"
[ "$(cat out)" = 3 ] || say "the manual's program prints $(cat out)"
(cd user && cargo test -q) >out 2>err || say "the tests: $(cat out err)"
! grep -q '^warning' err || say "warnings: $(cat err)"
exit $fail
