//! What kind of instruction an opcode is.
//!
//! The names are those of Neuron Explorer and of `neuron-profile`. In the hardware's numbering the control opcodes are
//! 0xa0 to 0xbb; the loader turns `PSEUDO_…` opcodes into one of them or into the opcode that follows the prefix.

/// Opcodes that the engine's sequencer executes itself, apart from those that [`is_sequencer`] knows by a part of
/// their name.
const CONTROL: [&str; 13] = [
    "ALU_OP",
    "COMPACT_CONTROL_INST",
    "DRAIN",
    "HALT",
    "INSTRUCTION_FLUSH",
    // Sets up the Pool engine; touches no tensor.
    "MODIFY_POOL_CONFIG",
    "MOVE",
    "MOVE_SHAPE",
    "NOP",
    "NOTIFY",
    "SET_ORDERING_MODE",
    // Fill and spill the sequencer's registers, in spite of their names.
    "TENSOR_LOAD",
    "TENSOR_STORE",
];

/// Whether this is a matrix multiplication: what the TensorMatrix track shows and FLOPs are counted for.
#[must_use]
pub fn is_matmul(opcode: &str) -> bool {
    opcode.starts_with("MATMUL")
}

/// Whether this waits on a semaphore or event and does nothing else: the time that makes an engine busy, but not active.
#[must_use]
pub fn is_wait(opcode: &str) -> bool {
    opcode == "EVENT_SEMAPHORE"
}

/// Whether the engine's sequencer executes this itself (register arithmetic, branches, DMA triggers, semaphores),
/// as opposed to the data path, which works on tensors in SBUF and PSUM. Unknown opcodes are taken for the latter.
#[must_use]
pub fn is_sequencer(opcode: &str) -> bool {
    let opcode = opcode.strip_prefix("PSEUDO_").unwrap_or(opcode);
    CONTROL.contains(&opcode)
        // A trigger of a transfer is a DMA instruction or a write to the ring's doorbell.
        || ["DMA", "WRITE", "TRIGGER_", "EVENT_"].iter().any(|start| opcode.starts_with(start))
        || ["SEMAPHORE", "BRANCH", "BARRIER", "_SEM"].iter().any(|part| opcode.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_data_path_are_told_apart() {
        let control = "EVENT_SEMAPHORE EVENT_SEMAPHORE_RANGE_CLEAR DRAIN NOP WRITE NOTIFY COMPARE_BRANCH TENSOR_LOAD \
            SET_ORDERING_MODE DMA_DIRECT2D PSEUDO_DMA_TRIGGER PSEUDO_TRIGGER_COLLECTIVE_2 PSEUDO_CORE_BARRIER POLL_SEM \
            ALU_OP MOVE MODIFY_POOL_CONFIG";
        let data = "MATMUL LDWEIGHTS ACTIVATE ACT_TABLE_LOAD TENSOR_TENSOR TENSOR_TENSOR_REDUCE TENSOR_REDUCE \
            TENSOR_SCALAR COPY CAST RECIPROCAL MEMSET IOTA CUSTOM_OP PSEUDO_CUSTOM_OP OP_0x8C";
        for opcode in control.split_whitespace() {
            assert!(is_sequencer(opcode), "{opcode}");
        }
        for opcode in data.split_whitespace() {
            assert!(!is_sequencer(opcode), "{opcode}");
        }
    }

    #[test]
    fn only_a_semaphore_instruction_is_a_wait() {
        assert!(is_wait("EVENT_SEMAPHORE"));
        assert!(!is_wait("EVENT_SEMAPHORE_RANGE_CLEAR") && !is_wait("DRAIN"));
        assert!(is_matmul("MATMUL") && is_matmul("MATMUL_MX") && !is_matmul("LDWEIGHTS"));
    }
}
