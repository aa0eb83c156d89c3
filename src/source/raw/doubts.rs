//! What a person should know before trusting a capture, beyond what could not be read of it.

use super::RawCapture;

impl RawCapture {
    /// Doubts in plain words, as the vendor's tool files its own: message and category.
    #[must_use]
    pub fn doubts(&self) -> Vec<(String, &'static str)> {
        let mut doubts = vec![];
        let (unnamed, dynamic) = self.unnamed_packets();
        if unnamed > 0 {
            let message = format!(
                "{unnamed} of {dynamic} packets of dynamic DMA queues name no tensor, because DGE notifications were not \
                 captured"
            );
            doubts.push((message, "Missing Data"));
        }
        if self.metadata.programs > 1 {
            let message = format!(
                "the trace spans executions of {} programs, and only one of them was used for names and source lines",
                self.metadata.programs
            );
            doubts.push((message, "Several Programs"));
        }
        for (at, merged) in self.merged.iter().enumerate() {
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
        // The Tensor Engine of each core waits for the next execution when the capture ends.
        for (pcore_idx, core) in self.cores.iter().enumerate() {
            let unfinished = self.unfinished.iter().filter(|row| usize::from(row.pcore_idx) == pcore_idx).count();
            if unfinished > 1 {
                let message = format!(
                    "{}: {unfinished} instructions had not ended when the capture did, so the end of the execution may be \
                     missing",
                    core.name
                );
                doubts.push((message, "Incomplete Execution"));
            }
        }
        doubts
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
