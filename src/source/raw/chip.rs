//! What is known about the chips that captures come from.

/// Properties of a chip. Those of trn2 are what the vendor's tool reports for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chip {
    /// Clock of the Tensor Engine, in GHz.
    pub tensor_engine_clock_freq: f64,
    /// Clock of the other engines, in GHz.
    pub other_engine_clock_freq: f64,
    /// Rows and columns of the Tensor Engine.
    pub tensor_engine_size: u32,
    /// Bytes per second of all DMA engines, where known.
    pub dma_ddr_bandwidth: Option<f64>,
    /// Bytes per second of the device memory of a core, where known.
    pub hbm_ddr_bandwidth: Option<f64>,
    /// Bytes of a state buffer partition.
    pub sbuf_partition_bytes: u32,
}

const TRN1: Chip = Chip {
    tensor_engine_clock_freq: 1.4,
    other_engine_clock_freq: 1.4,
    tensor_engine_size: 128,
    dma_ddr_bandwidth: None,
    hbm_ddr_bandwidth: None,
    sbuf_partition_bytes: 192 << 10,
};

const TRN2: Chip = Chip {
    tensor_engine_clock_freq: 2.4,
    other_engine_clock_freq: 1.2,
    tensor_engine_size: 128,
    dma_ddr_bandwidth: Some(435e9),
    hbm_ddr_bandwidth: Some(716e9),
    sbuf_partition_bytes: 224 << 10,
};

impl Chip {
    /// The chip of an instance type; `None` for one that no capture was seen from.
    #[must_use]
    pub fn of(instance_type: &str) -> Option<Chip> {
        match instance_type {
            trn1 if trn1.starts_with("trn1") => Some(TRN1),
            trn2 if trn2.starts_with("trn2") => Some(TRN2),
            _ => None,
        }
    }
}
