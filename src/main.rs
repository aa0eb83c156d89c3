//! Arguments in, exit code out.

fn main() -> std::process::ExitCode {
    neuron_scope::cli::run().into()
}
