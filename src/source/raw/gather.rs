//! Takes over what the trace recorded of each core.

use super::dma::{DmaTables, Program};
use super::plans::Plans;
use super::rows::Times;
use super::time::Timebase;
use super::words::Words;
use super::{RawCapture, RawGap, RawInstruction, RawSemaphoreUpdate, RawThrottle, RawUnfinished};
use crate::source::neff::Neff;
use crate::source::ntff::{Core, Executions, Ntff, SyncRecord};

impl RawCapture {
    pub(super) fn add_instructions(
        &mut self,
        found: &Executions,
        words: &mut Words<'_>,
        plans: &mut Plans,
        time: &Timebase,
        pcore_idx: u16,
    ) {
        self.instructions.reserve(found.finished.len());
        for row in &found.finished {
            let times = Times { start_ps: time.relative(row.start_ps), end_ps: time.relative(row.end_ps) };
            self.instructions.push(RawInstruction {
                times,
                word: words.index(row.engine, row.place, &mut self.words, plans),
                pcore_idx,
                engine: row.engine,
                evt_wait: row.wait,
                crc_in: row.crc_in,
                crc_out: row.crc_out,
                outside: time.outside(usize::from(pcore_idx), times),
            });
        }
        for row in &found.unfinished {
            self.unfinished.push(RawUnfinished {
                start_ps: time.relative(row.start_ps),
                word: words.index(row.engine, row.place, &mut self.words, plans),
                pcore_idx,
                engine: row.engine,
            });
        }
    }

    pub(super) fn report_instructions(&mut self, pcore_idx: usize, found: &Executions) {
        let counts = [
            (found.lost_starts, "instruction ends have no start"),
            (found.lost_ends, "instruction starts have no end"),
            (found.invalid, "instruction records are not understood"),
        ];
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            self.problems.push(format!("nc{pcore_idx}: {count} {what}"));
        }
    }

    pub(super) fn add_dma(&mut self, ntff: &Ntff, neff: Option<&Neff>, time: &Timebase) {
        let mut tables = DmaTables::default();
        let mut triggers = vec![vec![]; ntff.cores.len()];
        for (index, row) in self.instructions.iter().enumerate() {
            if self.words[row.word as usize].transfer.is_some() {
                triggers[usize::from(row.pcore_idx)].push(index as u32);
            }
        }
        for (pcore_idx, core) in ntff.cores.iter().enumerate() {
            let (rings, invalid) = ntff.dma_packets(core);
            if invalid > 0 {
                self.problems.push(format!("nc{pcore_idx}: {invalid} DMA records are not understood"));
            }
            let program = Program {
                core,
                pcore_idx: pcore_idx as u16,
                graph: neff.and_then(|neff| neff.graph(&core.name)),
                instructions: &self.instructions,
                triggers: &triggers[pcore_idx],
                words: &self.words,
                plans: &self.transfer_plans,
                time,
            };
            tables.add(&program, rings);
        }
        tables.sort();
        self.dma_rings = tables.rings;
        self.dma_packets = tables.packets;
        self.dma_transfers = tables.transfers;
        self.problems.append(&mut tables.problems);
    }

    pub(super) fn add_sync(&mut self, records: &[SyncRecord], time: &Timebase, pcore_idx: u16) {
        let mut before = None;
        for record in records {
            let time_ps = time.relative(record.time_ps);
            if record.loss {
                let after_ps = before.unwrap_or(time_ps);
                self.gaps.push(RawGap { pcore_idx, after_ps, before_ps: time_ps });
            }
            before = Some(time_ps);
            let at = Times { start_ps: time_ps, end_ps: time_ps };
            self.semaphores.push(RawSemaphoreUpdate {
                time_ps,
                pcore_idx,
                id: record.id,
                is_event: record.is_event,
                value: record.value,
                update_source: record.source,
                operation: record.operation,
                loss: record.loss,
                outside: time.outside(usize::from(pcore_idx), at),
            });
        }
    }

    /// A state lasts to the next one, or to the end of the execution.
    pub(super) fn add_throttle(&mut self, ntff: &Ntff, core: &Core, time: &Timebase, pcore_idx: u16) {
        let records = ntff.throttle_records(core);
        let executions = time.executions.get(usize::from(pcore_idx)).map(Vec::as_slice).unwrap_or_default();
        let end = executions.iter().map(|execution| execution.end_ps).max().unwrap_or(0);
        for (index, record) in records.iter().enumerate() {
            let start_ps = time.relative(record.time_ps);
            let next = records.get(index + 1).map(|next| time.relative(next.time_ps));
            self.throttles.push(RawThrottle {
                times: Times { start_ps, end_ps: next.unwrap_or(end).max(start_ps) },
                pcore_idx,
                k: record.k,
                n: record.n,
                kind: record.kind,
                activity: record.activity,
            });
        }
    }
}
