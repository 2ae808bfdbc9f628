//! With the feature `prebuilt-highs`, lets the program find the library at run time where it was found at build time.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=RW_ADV_HIGHS_LIB");
    let folder = env::var("RW_ADV_HIGHS_LIB").unwrap_or_default();
    if env::var_os("CARGO_FEATURE_PREBUILT_HIGHS").is_some() && !folder.is_empty() {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
