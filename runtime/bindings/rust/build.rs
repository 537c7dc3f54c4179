// SPDX-License-Identifier: MIT
// Links with libneso in the folder NESO_LIB_DIR, else in the folder from pkg-config, else in the linker's own folders.
fn main() {
    let asked = || std::process::Command::new("pkg-config").args(["--variable=prefix", "neso"]).output().ok();
    let found = || Some(String::from_utf8(asked()?.stdout).ok()?.trim().to_owned()).filter(|dir| !dir.is_empty());
    println!("cargo:rerun-if-env-changed=NESO_LIB_DIR\ncargo:rustc-link-lib=dylib=neso");
    if let Some(dir) = std::env::var("NESO_LIB_DIR").ok().or_else(|| Some(found()? + "/lib")) {
        println!("cargo:rustc-link-search=native={dir}");
    }
}
