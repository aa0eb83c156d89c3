//! Traces of the framework (`trace.json`, in the format of torch.profiler), looked through for what makes a capture
//! doubtful: something compiled in the window, and work that was launched but not recorded as done.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use rustc_hash::FxHashSet;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::kind::FileKind;
use super::tree::Capture;
use crate::model::compilation::is_compilation;
use crate::model::format::format_count;
use crate::model::{Finding, Severity};
use crate::source::lenient::{Fields, Object, Text};

/// Bytes of a trace that are looked through, unpacked.
const MOST_BYTES: u64 = 2 << 30;
/// A packed trace may unpack to so many times its size, and [`UNPACKED_BASE`] bytes.
const MOST_UNPACKED: u64 = 100;
const UNPACKED_BASE: u64 = 64 << 20;
/// Launches, and names, that are remembered.
const MOST_KEPT: usize = 4_000_000;
/// The operator's dispatch on the host, and what the device did for it.
const LAUNCH: &str = "privateuse1_runtime";
const EXECUTION: &str = "privateuse1_driver";
/// What joins the two, the surest first.
const JOINS: [&str; 3] = ["nrt_sequence_id", "correlation", "External id"];

impl Capture {
    /// Findings about the traces of the framework. Takes a second for each half gigabyte of them.
    #[must_use]
    pub fn check_framework(&self) -> Vec<Finding> {
        let traces = self.files.iter().filter(|file| file.kind == FileKind::FrameworkTrace && file.bytes > 0);
        traces.filter_map(|file| Some(Seen::in_file(&file.path).ok()?.findings(&file.path))).flatten().collect()
    }
}

/// What was seen in a trace.
#[derive(Default)]
struct Seen {
    /// An event of compiling, and how many there were.
    compiling: Option<(String, u64)>,
    /// Names that were looked at.
    names: FxHashSet<Box<str>>,
    /// For each way to join them, the launches and the executions.
    launched: [FxHashSet<Text>; 3],
    ran: [FxHashSet<Text>; 3],
    launches: u64,
    executions: u64,
}

impl Seen {
    /// Looks through a file, as far as it can be read and is not too long.
    fn in_file(path: &Path) -> io::Result<Seen> {
        let file = crate::files::open(path)?;
        let bytes = file.metadata()?.len();
        let mut packed = BufReader::with_capacity(1 << 17, file);
        let most = bytes.saturating_mul(MOST_UNPACKED).saturating_add(UNPACKED_BASE).min(MOST_BYTES);
        Ok(match packed.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
            true => Seen::within(BufReader::with_capacity(1 << 17, MultiGzDecoder::new(packed)).take(most)),
            false => Seen::within(packed.take(most)),
        })
    }

    fn within(stream: impl Read) -> Seen {
        let mut seen = Seen::default();
        // What came before damage, or before the end of what is looked at, counts.
        let _ = Trace { seen: &mut seen, depth: 0 }.deserialize(&mut serde_json::Deserializer::from_reader(stream));
        seen
    }

    fn event(&mut self, event: Event) {
        // Only what took place; names of processes and flows between events do not.
        if !matches!(event.phase.0.as_str(), "X" | "B" | "b" | "i" | "I" | "n") {
            return;
        }
        let launch = match event.category.0.as_str() {
            LAUNCH => Some((&mut self.launches, &mut self.launched)),
            EXECUTION => Some((&mut self.executions, &mut self.ran)),
            _ => None,
        };
        if let Some((count, ids)) = launch {
            *count += 1;
            for (set, id) in ids.iter_mut().zip(event.joins.0.0) {
                if !id.0.is_empty() && set.len() < MOST_KEPT {
                    set.insert(id);
                }
            }
        }
        let name = event.name.0;
        match &mut self.compiling {
            Some((known, count)) if *known == name => *count += 1,
            Some(_) => {}
            None if self.names.contains(name.as_str()) => {}
            None if is_compilation(&name) => self.compiling = Some((name, 1)),
            None if self.names.len() < MOST_KEPT => {
                self.names.insert(name.into_boxed_str());
            }
            None => {}
        }
    }

    fn findings(&self, path: &Path) -> Vec<Finding> {
        let about = |severity, code, text: String, remedy: &str| Finding::new(severity, code, path, text, remedy);
        let mut findings = vec![];
        if let Some((name, count)) = &self.compiling {
            let name: String = name.chars().take(80).collect();
            let times = if *count == 1 { String::new() } else { format!(", {} times", format_count(*count)) };
            findings.push(about(
                Severity::Warning,
                "compilation",
                format!("something was compiled in the window ({name}{times}), so times include what a warm run does not have"),
                "Run the model 3 times or more before the profiler starts, and profile what comes after",
            ));
        }
        if self.launches == 0 {
            return findings;
        }
        if self.executions == 0 {
            findings.push(about(
                Severity::Warning,
                "no-executions",
                format!(
                    "{} operators were launched on the device, but nothing of what it did was recorded",
                    format_count(self.launches)
                ),
                "Pass ProfilerActivity.PrivateUse1 with a device or runtime mode to the profiler, and wait \
                 (torch.neuron.synchronize()) before the export",
            ));
            return findings;
        }
        let joined =
            self.launched.iter().zip(&self.ran).find(|(launched, ran)| !launched.is_empty() && !ran.is_empty());
        let Some((launched, ran)) = joined else { return findings };
        let lost = launched.difference(ran).count() as u64;
        // Beyond what is remembered, nothing can be said to be missing.
        if lost > 0 && launched.len() < MOST_KEPT && ran.len() < MOST_KEPT {
            findings.push(about(
                Severity::Failed,
                "launches-without-execution",
                format!(
                    "{} of {} launches have no execution on the device: the export did not wait for it",
                    format_count(lost),
                    format_count(launched.len() as u64)
                ),
                "Call torch.neuron.synchronize() at the end of what is profiled, before the export",
            ));
        }
        findings
    }
}

/// An event, as far as it is of interest.
#[derive(Default)]
struct Event {
    phase: Text,
    category: Text,
    name: Text,
    joins: Object<Joins>,
}

/// A trace: an object with the list of events, or the list alone. Its events are of depth 1.
struct Trace<'s> {
    seen: &'s mut Seen,
    depth: u8,
}

impl<'de> DeserializeSeed<'de> for Trace<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Trace<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a trace")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(event) = list.next_element::<Object<Event>>()? {
            self.seen.event(event.0);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "traceEvents" && self.depth == 0 {
                map.next_value_seed(Trace { seen: &mut *self.seen, depth: 1 })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

impl Fields for Event {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        match key {
            "ph" => self.phase = map.next_value()?,
            "cat" => self.category = map.next_value()?,
            "name" => self.name = map.next_value()?,
            "args" => self.joins = map.next_value()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// What joins an event to others, in the order of [`JOINS`].
#[derive(Default)]
struct Joins([Text; 3]);

impl Fields for Joins {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        let Some(at) = JOINS.iter().position(|join| *join == key) else { return Ok(false) };
        self.0[at] = map.next_value()?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(category: &str, name: &str, id: u64) -> String {
        format!(r#"{{"ph":"X","cat":"{category}","name":"{name}","args":{{"nrt_sequence_id":{id}}}}}"#)
    }

    fn codes(trace: &str) -> Vec<&'static str> {
        let found = Seen::within(trace.as_bytes()).findings(Path::new("/t"));
        found.iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn launches_are_joined_to_executions_by_ids_beyond_a_double() {
        let id = |n: u64| (1 << 60) + n;
        let launch = |n| event(LAUNCH, "aten::linear", id(n));
        let run = |n| event(EXECUTION, "aten::linear", id(n));
        let trace = |events: &[String]| format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
        assert!(codes(&trace(&[launch(1), run(1), launch(2), run(2)])).is_empty());
        let lost = trace(&[launch(1), run(1), launch(2)]);
        assert_eq!(codes(&lost), ["launches-without-execution"]);
        let finding = &Seen::within(lost.as_bytes()).findings(Path::new("/t"))[0];
        assert!(finding.text.starts_with("1 of 2 launches") && finding.remedy.contains("synchronize"), "{finding:?}");
        assert_eq!(codes(&trace(&[launch(1), launch(2)])), ["no-executions"]);
        assert!(codes(&trace(&[run(1)])).is_empty(), "begun before the window");
        assert!(codes(&trace(&[event("cpu_op", "aten::linear", 1)])).is_empty());
        // Other ids do where these are missing; without any, nothing can be said.
        let other = |text: String| text.replace("nrt_sequence_id", "External id");
        assert_eq!(codes(&trace(&[other(launch(1)), other(run(1)), other(launch(2))])), ["launches-without-execution"]);
        let none = |text: String| text.replace("nrt_sequence_id", "x");
        assert!(codes(&trace(&[none(launch(1)), none(run(2))])).is_empty());
    }

    #[test]
    fn compiling_in_the_window_is_found_in_any_shape_of_trace() {
        let compiling = event("python_function", "torch/_dynamo/convert_frame.py(12): _compile", 1);
        let other = event("cpu_op", "aten::mul", 2);
        for trace in [
            format!("[{other},{compiling}"),
            format!(
                r#"{{"a":[1,{{"b":2}}],"traceEvents":[null,3,"x",[1],{{"args":7}},{other},{compiling},{compiling}],"z":0}}"#
            ),
            format!(r#"{{"traceEvents":[{compiling},{{"name":"broken"#),
        ] {
            assert_eq!(codes(&trace), ["compilation"], "{trace}");
        }
        assert!(codes(&format!("[{other}]")).is_empty());
        let named = r#"[{"ph":"M","name":"compile","args":{"name":"neuronx-cc"}}]"#;
        assert!(codes(named).is_empty(), "a process is called so");
        for odd in ["", "7", "null", "{}", "[", r#"{"traceEvents":3}"#] {
            assert!(codes(odd).is_empty(), "{odd}");
        }
    }
}
