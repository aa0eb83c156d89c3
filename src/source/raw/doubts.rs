//! What a person should know before trusting a capture, beyond what could not be read of it.

use std::collections::BTreeSet;

use super::RawCapture;
use super::rows::{RawUnfinished, Times, nanoseconds};
use crate::store::LOST_RECORDS;

/// How the word at the doorbell compares: greater than, as no other does.
const DOORBELL: u8 = 4;
/// Instructions that never ended are named up to so many.
const MOST_NAMED: usize = 3;

impl RawCapture {
    /// Doubts in plain words, as the vendor's tool files its own: message and category.
    #[must_use]
    pub fn doubts(&self) -> Vec<(String, &'static str)> {
        let mut doubts = vec![];
        let (unnamed, dynamic) = if self.whole { self.unnamed_packets() } else { (0, 0) };
        if unnamed > 0 {
            let message = format!(
                "{unnamed} of {dynamic} packets of dynamic DMA queues name no tensor, because DGE notifications were not \
                 captured"
            );
            doubts.push((message, "Missing Data"));
        }
        doubts.extend(self.unread_kernels().map(|message| (message, "Missing Data")));
        if self.metadata.programs > 1 {
            let message = format!(
                "the trace spans executions of {} programs, and only one of them was used for names and source lines",
                self.metadata.programs
            );
            doubts.push((message, "Several Programs"));
        }
        let programs: BTreeSet<&str> = self.merged.iter().map(|merged| merged.neff_name.as_str()).collect();
        if programs.len() > 1 {
            let names = programs.into_iter().collect::<Vec<_>>().join(", ");
            doubts.push((format!("the captures shown together are of different programs: {names}"), "Merged"));
        }
        for (at, merged) in self.merged.iter().enumerate().skip(1) {
            let last = self.merged.get(at + 1).map_or(self.cores.len(), |next| next.first_core).saturating_sub(1);
            let name = merged.path.file_name().unwrap_or_default().to_string_lossy();
            let place = match merged.kept_distance {
                true => "placed by the clock of the device",
                false => {
                    "moved so that its measured execution starts with the first one's, because they counted on different \
                     clocks or ran more than a second apart: distances between the two say nothing"
                }
            };
            let cores = match merged.first_core {
                first if first >= last => format!("nc{first} is of"),
                first => format!("nc{first} to nc{last} are of"),
            };
            doubts.push((format!("{cores} {name}, {place}"), "Merged"));
        }
        for (pcore_idx, _) in (0..).zip(&self.cores) {
            let stuck: Vec<String> = self.stuck(pcore_idx).map(|row| self.since(row)).collect();
            if !stuck.is_empty() {
                let more = if stuck.len() > MOST_NAMED { ", …" } else { "" };
                let message = format!(
                    "nc{pcore_idx}: {} had not ended when the capture did, so the end of the execution may be missing: {}{more}",
                    if stuck.len() == 1 {
                        "an instruction".to_owned()
                    } else {
                        format!("{} instructions", stuck.len())
                    },
                    stuck[..stuck.len().min(MOST_NAMED)].join(", ")
                );
                doubts.push((message, "Incomplete Execution"));
            }
        }
        let lost = self.gaps.iter().filter(|gap| !self.is_outside(gap.pcore_idx, gap.times())).count();
        if lost > 0 {
            let places = if lost == 1 { "in one place".to_owned() } else { format!("in {lost} places") };
            let message = format!(
                "semaphore records were lost {places} (track {LOST_RECORDS}); what waited there, and for what, is inferred"
            );
            doubts.push((message, "Missing Data"));
        }
        doubts
    }

    /// Instructions of a core that began within the measured execution and never ended. That the Tensor Engine waits at its
    /// doorbell for the next execution is so in every capture.
    fn stuck(&self, pcore_idx: u16) -> impl Iterator<Item = &RawUnfinished> {
        self.unfinished.iter().filter(move |row| {
            let begins = Times { start_ps: row.start_ps, end_ps: row.start_ps.saturating_add(1) };
            let at_doorbell = self.words[row.word as usize].sync.waits.iter().any(|wait| wait.mode == DOORBELL);
            row.pcore_idx == pcore_idx && !at_doorbell && !self.is_outside(pcore_idx, begins)
        })
    }

    /// `DRAIN on Scalar since 4953 ns`.
    fn since(&self, row: &RawUnfinished) -> String {
        let word = &self.words[row.word as usize];
        let operands = if word.operands.is_empty() { String::new() } else { format!(" ({})", word.operands) };
        format!("{} on {} since {} ns{operands}", word.opcode, row.engine.name(), nanoseconds(row.start_ps))
    }

    /// What of the kernels' own debug information came to nothing.
    fn unread_kernels(&self) -> Option<String> {
        let kernels = &self.kernels;
        let file = kernels.files.first().filter(|_| self.whole)?;
        let name = file.name.rsplit('/').next().unwrap_or_default();
        if kernels.instructions.is_empty() {
            return Some(format!(
                "{name} in the program ({}) is in no layout that is public: source lines are those of the compiler's \
                 other debug information",
                file.outline
            ));
        }
        let joined = self.words.iter().any(|word| word.kernel_instruction.is_some());
        (!joined).then(|| {
            format!(
                "none of the {} instructions that {name} in the program lists has the name of one that ran: source lines \
                 are those of the compiler's other debug information",
                kernels.instructions.len()
            )
        })
    }

    /// Packets of dynamic queues that no tensor is known of, and all packets of such queues.
    fn unnamed_packets(&self) -> (usize, usize) {
        let dynamic: Vec<bool> = self.dma_rings.iter().map(|ring| ring.queue_type.ends_with("dynamic")).collect();
        let named: Vec<bool> = self
            .dma_transfers
            .iter()
            .map(|transfer| {
                self.transfer_plans.get(transfer.plan as usize).is_some_and(|plan| !plan.variable.is_empty())
            })
            .collect();
        let packets = self.dma_packets.iter().filter(|p| dynamic.get(p.ring as usize) == Some(&true) && !p.outside);
        packets.fold((0, 0), |(unnamed, all), packet| {
            let known = packet.transfer.is_some_and(|transfer| named.get(transfer as usize) == Some(&true));
            (unnamed + usize::from(!known), all + 1)
        })
    }
}
