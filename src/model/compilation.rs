//! Events of a compiler at work.

/// Whether an event is one of compiling rather than of running what was compiled, by its name.
#[must_use]
pub fn is_compilation(name: &str) -> bool {
    const SIGNS: [&str; 9] = [
        "neuronx-cc",
        "neuronx_cc",
        "neuron_compile",
        "neff_compile",
        "compile_neff",
        "compile_hlo",
        "compile_fx",
        "convert_frame.py",
        "backend_compile",
    ];
    let name = name.to_lowercase();
    SIGNS.iter().any(|sign| name.contains(sign)) || name == "compile" || name.starts_with("compilation")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_what_was_compiled_is_no_compilation() {
        for name in ["torch/_dynamo/convert_frame.py(1): _compile", "neuronx-cc", "Compilation cache miss", "compile"] {
            assert!(is_compilation(name), "{name}");
        }
        for name in
            ["torch/_dynamo/eval_frame.py(956): _fn", "CompiledFunction", "Torch-Compiled Region", "nrt_execute"]
        {
            assert!(!is_compilation(name), "{name}");
        }
    }
}
