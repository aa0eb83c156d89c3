//! Which program a device trace is of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::names::{self, NeffName, TraceName};
use crate::source::neff::{Fault, Header};
use crate::source::ntff::{Head, Unusable, is_run_of};

/// A program, as far as its name and header tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neff {
    /// The file.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// What its name says.
    pub name: NeffName,
    /// Its header, or why it has none.
    pub header: Result<Header, Fault>,
}

impl Neff {
    /// Looks at a file.
    #[must_use]
    pub fn look(path: &Path) -> Neff {
        let read = Header::of_file(path);
        Neff {
            path: path.to_path_buf(),
            bytes: read.as_ref().map_or(0, |(_, bytes)| *bytes),
            name: names::neff(&file_name(path)),
            header: read.map(|(header, _)| header),
        }
    }

    /// The identity of the compilation, where it is known.
    #[must_use]
    pub fn uuid(&self) -> &str {
        self.header.as_ref().map_or("", |header| header.uuid.as_str())
    }
}

/// A device trace, as far as its name and metadata tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The file.
    pub path: PathBuf,
    /// What its name says.
    pub name: TraceName,
    /// What it is called among the traces of its capture.
    pub label: String,
    /// What it says about itself, or why that cannot be read.
    pub head: Result<Head, Unusable>,
    /// Its program.
    pub program: Option<Program>,
}

impl Trace {
    /// Looks at a file; its program is still to be found.
    #[must_use]
    pub fn look(path: &Path) -> Trace {
        let name = names::trace(&file_name(path));
        Trace { path: path.to_path_buf(), name, label: String::new(), head: Head::open(path), program: None }
    }

    /// Whether a compilation is one that ran.
    fn ran(&self, uuid: &str) -> bool {
        let Ok(head) = &self.head else { return false };
        !uuid.is_empty() && head.compilations().into_iter().any(|ran| is_run_of(ran, uuid))
    }

    /// Whether the program found is of another compilation than the one that ran.
    #[must_use]
    pub fn is_mismatched(&self) -> bool {
        let Some(program) = &self.program else { return false };
        self.head.is_ok() && !program.uuid.is_empty() && !self.ran(&program.uuid)
    }
}

/// How a program was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A person named it.
    Given,
    /// It carries the identity of the compilation that ran.
    Uuid,
    /// The names share a hash, or what `-s` and `-n` called them.
    Name,
    /// It is the only one beside the trace.
    OnlyOne,
}

impl Rule {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Rule::Given => "given",
            Rule::Uuid => "by uuid",
            Rule::Name => "by name",
            Rule::OnlyOne => "the only one beside it",
        }
    }
}

/// The program of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// How it was found.
    pub rule: Rule,
    /// The identity of its compilation.
    pub uuid: String,
}

impl Program {
    /// The program that a person named.
    #[must_use]
    pub fn given(path: &Path) -> Program {
        program(&Neff::look(path), Rule::Given)
    }
}

/// Finds the program of each trace: by identity, then by name, then the only one beside it. Of several equal ones the
/// nearest in the tree is taken; those in `cached`, which is asked only where a trace wants one, come after all others.
pub fn pair(traces: &mut [Trace], neffs: &[Neff], cached: &dyn Fn() -> Vec<Neff>) {
    let beside = neffs.iter().fold(BTreeMap::<_, Vec<_>>::new(), |mut beside, neff| {
        beside.entry(neff.path.parent()).or_default().push(neff);
        beside
    });
    let mut wanting = vec![];
    for (at, trace) in traces.iter_mut().enumerate() {
        trace.program = by_uuid(trace, neffs);
        if trace.program.is_none() {
            wanting.push(at);
        }
    }
    // A trace that cannot be read says nothing that a cache could be searched for.
    let search = wanting.iter().any(|at| traces[*at].head.is_ok());
    let cached = if search { cached() } else { vec![] };
    for trace in wanting {
        let trace = &mut traces[trace];
        let only = beside.get(&trace.path.parent()).and_then(|all| <[_; 1]>::try_from(all.as_slice()).ok());
        trace.program = by_uuid(trace, &cached)
            .or_else(|| by_name(trace, neffs))
            .or_else(|| by_name(trace, &cached))
            .or_else(|| only.map(|[neff]| program(neff, Rule::OnlyOne)));
    }
}

fn by_uuid(trace: &Trace, neffs: &[Neff]) -> Option<Program> {
    nearest(trace, neffs.iter().filter(|neff| trace.ran(neff.uuid())), Rule::Uuid)
}

fn by_name(trace: &Trace, neffs: &[Neff]) -> Option<Program> {
    let same = neffs.iter().filter(|neff| trace.name.is_of(&neff.name));
    // What -n called it says little in another directory, where another run may have used the same name.
    let same = same.filter(|neff| trace.name.hash.is_some() || neff.path.parent() == trace.path.parent());
    nearest(trace, same, Rule::Name)
}

fn nearest<'a>(trace: &Trace, neffs: impl Iterator<Item = &'a Neff>, rule: Rule) -> Option<Program> {
    let shared = |neff: &Neff| neff.path.components().zip(trace.path.components()).take_while(|(a, b)| a == b).count();
    // One made for the very core is better than one for all or for another.
    let suits = |neff: &Neff| neff.name.core.is_some() && neff.name.core == trace.name.core;
    neffs
        .min_by_key(|neff| (std::cmp::Reverse(shared(neff)), !suits(neff), neff.path.clone()))
        .map(|n| program(n, rule))
}

fn program(neff: &Neff, rule: Rule) -> Program {
    Program { path: neff.path.clone(), rule, uuid: neff.uuid().to_owned() }
}

/// The last part of a path, as text.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aa000000000000000000000000000001";
    const B: &str = "bb000000000000000000000000000002";

    fn neff(path: &str, uuid: &str) -> Neff {
        let header = Ok(Header { uuid: uuid.into(), ..Header::default() });
        Neff { path: path.into(), bytes: 1024, name: names::neff(&file_name(Path::new(path))), header }
    }

    fn trace(path: &str, uuid: &str) -> Trace {
        let head = Head { uuid: uuid.into(), ..Head::default() };
        let name = names::trace(&file_name(Path::new(path)));
        Trace { path: path.into(), name, label: String::new(), head: Ok(head), program: None }
    }

    fn paired(mut trace: Trace, neffs: &[Neff], cached: &[Neff]) -> Option<(String, Rule, bool)> {
        pair(std::slice::from_mut(&mut trace), neffs, &|| cached.to_vec());
        let mismatched = trace.is_mismatched();
        trace.program.map(|p| (p.path.to_string_lossy().into_owned(), p.rule, mismatched))
    }

    #[test]
    fn the_identity_comes_before_the_name_and_that_before_being_the_only_one() {
        let ran = || trace("/c/p/12_instid_0_vnc_0.ntff", A);
        let named = neff("/c/p/neff_12.neff", B);
        let cached = neff("/cache/x.neff", A);
        assert_eq!(
            paired(ran(), &[named.clone(), neff("/c/p/neff_13.neff", A)], &[]),
            Some(("/c/p/neff_13.neff".into(), Rule::Uuid, false))
        );
        assert_eq!(
            paired(ran(), std::slice::from_ref(&named), &[cached]),
            Some(("/cache/x.neff".into(), Rule::Uuid, false)),
            "an identity in a cache says more than a name beside it"
        );
        assert_eq!(
            paired(ran(), &[neff("/c/p/other.neff", B), named], &[]),
            Some(("/c/p/neff_12.neff".into(), Rule::Name, true))
        );
        assert_eq!(
            paired(ran(), &[neff("/c/p/other.neff", B)], &[]),
            Some(("/c/p/other.neff".into(), Rule::OnlyOne, true))
        );
        assert_eq!(
            paired(ran(), &[neff("/c/p/x.neff", B), neff("/c/p/y.neff", B)], &[]),
            None,
            "of two strangers neither is taken"
        );
        assert_eq!(paired(ran(), &[neff("/c/q/x.neff", B)], &[]), None, "elsewhere is not beside");
    }

    #[test]
    fn the_nearest_of_equal_ones_is_taken_and_that_of_the_core() {
        let neffs = [
            neff("/c/i_pid_2/neff_7.neff", A),
            neff("/c/i_pid_1/t/neff_7_vnc_0.neff", A),
            neff("/c/i_pid_1/t/neff_7_vnc_1.neff", A),
        ];
        let of = |path| paired(trace(path, A), &neffs, &[]).unwrap().0;
        assert_eq!(of("/c/i_pid_1/t/7_instid_0_vnc_1.ntff"), "/c/i_pid_1/t/neff_7_vnc_1.neff");
        assert_eq!(of("/c/i_pid_1/t/7_instid_0_vnc_0.ntff"), "/c/i_pid_1/t/neff_7_vnc_0.neff");
        assert_eq!(of("/c/i_pid_2/7_instid_0_vnc_3.ntff"), "/c/i_pid_2/neff_7.neff");
    }

    #[test]
    fn hashes_pair_across_directories_but_given_names_only_within_one() {
        let of = |path, neffs: &[Neff]| paired(trace(path, ""), neffs, &[]).map(|p| (p.0, p.1));
        let far = [neff("/c/neffs/neff_12.neff", B), neff("/c/neffs/fused.neff", B)];
        assert_eq!(of("/c/p/12_instid_0_vnc_0.ntff", &far), Some(("/c/neffs/neff_12.neff".into(), Rule::Name)));
        assert_eq!(of("/c/p/fused_exec_2.ntff", &far), None);
        let near = [neff("/c/p/fused.neff", B), neff("/c/p/base.neff", B)];
        assert_eq!(of("/c/p/fused_exec_2.ntff", &near), Some(("/c/p/fused.neff".into(), Rule::Name)));
    }

    #[test]
    fn unreadable_files_still_pair_by_name_and_never_by_identity() {
        let broken = Trace { head: Err(Unusable::Version(9)), ..trace("/c/12_instid_0_vnc_0.ntff", A) };
        assert_eq!(
            paired(broken, &[neff("/c/neff_12.neff", A), neff("/c/b.neff", A)], &[]),
            Some(("/c/neff_12.neff".into(), Rule::Name, false))
        );
        let unread = Neff { header: Err(Fault::new("x", "y")), ..neff("/c/neff_12.neff", A) };
        let found = paired(trace("/c/12_instid_0_vnc_0.ntff", A), &[unread], &[]);
        assert_eq!(found, Some(("/c/neff_12.neff".into(), Rule::Name, false)));
    }

    #[test]
    fn caches_are_asked_only_when_something_is_missing() {
        let mut traces = [trace("/c/a.ntff", A)];
        pair(&mut traces, &[neff("/c/z.neff", A)], &|| panic!("not needed"));
        assert_eq!(traces[0].program.as_ref().map(|p| p.rule), Some(Rule::Uuid));
    }

    #[test]
    fn several_executions_pair_with_any_of_their_programs() {
        let head = Head { uuid: A.into(), executions: vec![A.into(), B.into()], ..Head::default() };
        let several = Trace { head: Ok(head), ..trace("/c/s.ntff", A) };
        let found = paired(several, &[neff("/c/b.neff", B)], &[]);
        assert_eq!(found, Some(("/c/b.neff".into(), Rule::Uuid, false)));
    }
}
