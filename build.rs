//! Compiles the message definitions in `proto/` without an installed `protoc`.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let mut files: Vec<_> = std::fs::read_dir(Path::new("proto"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "proto"))
        .collect();
    files.sort();
    prost_build::Config::new().compile_fds(protox::compile(&files, ["proto"])?)?;
    Ok(())
}
