// SPDX-License-Identifier: MIT
// Links with libneso, which is in the folder NESO_LIB_DIR, or else where pkg-config finds it, or else where the
// linker searches.
fn main() {
    let asked = || std::process::Command::new("pkg-config").args(["--variable=prefix", "neso"]).output().ok();
    let found = || Some(String::from_utf8(asked()?.stdout).ok()?.trim().to_owned()).filter(|dir| !dir.is_empty());
    println!("cargo:rerun-if-env-changed=NESO_LIB_DIR\ncargo:rustc-link-lib=dylib=neso");
    if let Some(dir) = std::env::var("NESO_LIB_DIR").ok().or_else(|| Some(found()? + "/lib")) {
        println!("cargo:rustc-link-search=native={dir}");
    }
}
