//! What lies between two marks around everything is what the profile's own summary says.

use std::sync::atomic::AtomicBool;

use neuron_scope::query::marks::between;

use crate::corpus::{corpus, read_one};

#[test]
fn the_whole_profile_agrees_with_its_summary() {
    for case in ["base", "lnc1", "duckdb_snappy", "type_float64"] {
        let Some(root) = corpus(&format!("parquet/{case}")) else { return };
        let path = std::fs::read_dir(&root).unwrap().flatten().map(|e| e.path());
        let path = path.filter(|p| p.join("Instruction.parquet").is_file()).min().unwrap();
        let store = read_one(&path);
        let found = between(&store, store.whole(), &AtomicBool::new(false)).unwrap();
        assert_eq!(found.problems, [], "{case}");
        let summary = |column: &str| store.number("Summary", column).unwrap_or_else(|| panic!("{case}: {column}"));
        let close = |what: &str, ours: f64, theirs: f64| {
            assert!((ours - theirs).abs() <= theirs.abs() * 1e-6, "{case}: {what} is {ours}, not {theirs}");
        };
        let sum = |of: &dyn Fn(&neuron_scope::query::marks::Movement) -> Option<f64>| -> f64 {
            found.movement.iter().filter_map(of).sum()
        };
        close("HBM read", sum(&|m| m.hbm_read), summary("hbm_read_bytes"));
        close("HBM written", sum(&|m| m.hbm_written), summary("hbm_write_bytes"));
        close("SBUF read", sum(&|m| m.sbuf_read), summary("sbuf_read_bytes"));
        close("SBUF written", sum(&|m| m.sbuf_written), summary("sbuf_write_bytes"));
        close("spill saved", sum(&|m| m.spill_saved), summary("spill_save_bytes"));
        close("spill reloaded", sum(&|m| m.spill_reloaded), summary("spill_reload_bytes"));
        close("bytes", sum(&|m| Some(m.bytes)), summary("dma_transfer_total_bytes"));
        close("transfers", sum(&|m| Some(m.transfers as f64)), summary("dma_transfer_count"));
        let flops: f64 = found.engines.iter().filter_map(|e| e.flops).sum();
        close("FLOPs", flops, summary("adjusted_hardware_flops"));
        let instructions: u64 = found.engines.iter().map(|e| e.instructions).sum();
        assert_eq!(instructions as usize, store.table("Instruction").unwrap().len(), "{case}: instructions");
    }
}
