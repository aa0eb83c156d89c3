//! `kernel_debug_info.json`: which line of an NKI kernel each instruction was written in, with the calls and the loop
//! iterations that led to it.
//!
//! The file has no documented layout. What the open NKI front-end writes for the profiler is public
//! (github.com/leanprover/KLR, `KLR/Compile.lean` and `KLR/Trace/Types.lean`, read as a description): a list with an
//! entry per core, `{"lnc": 1, "info": [ITEM…]}`, whose items are `{"func": {name, file, line, children}}`,
//! `{"iter": {var, val, line, children}}` and `{"inst": {name, line}}`. Such items are read wherever they are in the file;
//! of any other contents the outline is kept. The vendor's schema names instructions `NAME:PARENT`, with the id in the
//! penguin level, so that names are those of the BIR level.

mod read;

use rustc_hash::FxHashMap;

use super::archive::Archive;

/// A file of this kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFile {
    /// Its name in the archive.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// What its outermost values are, such as `a list of 2 with info, lnc`.
    pub outline: String,
    /// Instructions that it names, in the layout that is known.
    pub instructions: usize,
}

/// A function that was called while a kernel was compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelFrame {
    /// The function, as an index of [`Kernels::text`].
    pub name: u32,
    /// Its source file, likewise.
    pub file: u32,
    /// Its line; 0 where it is not said.
    pub line: u32,
    /// The caller, as an index in [`Kernels::frames`].
    pub parent: Option<u32>,
    /// The core, counted from 0 within the logical core.
    pub core: Option<u16>,
}

/// A turn of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelIteration {
    /// The variable, as an index of [`Kernels::text`].
    pub variable: u32,
    /// Its value, likewise.
    pub value: u32,
    /// The line of the loop; 0 where it is not said.
    pub line: u32,
    /// The function that it is in.
    pub frame: Option<u32>,
    /// The turn of the next outer loop.
    pub parent: Option<u32>,
    /// The core, as in [`KernelFrame::core`].
    pub core: Option<u16>,
}

/// An instruction as the kernel's author wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KernelInstruction {
    /// Its name, such as `inst.72`.
    pub name: Box<str>,
    /// Its line; 0 where it is not said.
    pub line: u32,
    /// The innermost function.
    pub frame: Option<u32>,
    /// The turn of the innermost loop.
    pub iteration: Option<u32>,
    /// The core, as in [`KernelFrame::core`].
    pub core: Option<u16>,
    /// The number under which its kernel is listed, where it is under one: an id in the penguin level (likely).
    pub kernel: Option<u64>,
}

/// All that these files say.
#[derive(Debug, Clone, Default)]
pub struct Kernels {
    /// The files.
    pub files: Vec<KernelFile>,
    /// Calls.
    pub frames: Vec<KernelFrame>,
    /// Turns of loops.
    pub iterations: Vec<KernelIteration>,
    /// Instructions.
    pub instructions: Vec<KernelInstruction>,
    texts: Vec<Box<str>>,
    by_name: Vec<u32>,
}

/// Whether a member is such a file.
pub fn is_kernel_member(name: &str) -> bool {
    name.ends_with("kernel_debug_info.json") || name.ends_with(".debuginfo.json")
}

/// Reads them all.
pub(super) fn read(archive: &Archive, problems: &mut Vec<String>) -> Kernels {
    let mut kernels = Kernels::default();
    let mut known = FxHashMap::default();
    for (name, bytes) in archive.contents.iter().filter(|(name, _)| is_kernel_member(name)) {
        let before = kernels.instructions.len();
        let (outline, failure) = read::file(bytes, &mut kernels, &mut known);
        problems.extend(failure.map(|failure| format!("{name} cannot be read to its end: {failure}")));
        let instructions = kernels.instructions.len() - before;
        kernels.files.push(KernelFile { name: name.clone(), size: bytes.len() as u64, outline, instructions });
    }
    kernels.sort();
    kernels
}

impl Kernels {
    /// A text by its index; empty where there is none.
    #[must_use]
    pub fn text(&self, index: u32) -> &str {
        self.texts.get(index as usize).map_or("", |text| text)
    }

    /// The source files that are named, each once, by name.
    #[must_use]
    pub fn sources(&self) -> Vec<&str> {
        let mut files: Vec<u32> = self.frames.iter().map(|frame| frame.file).collect();
        files.sort_unstable();
        files.dedup();
        let mut files: Vec<&str> = files.into_iter().map(|file| self.text(file)).collect();
        files.retain(|file| !file.is_empty());
        files.sort_unstable();
        files.dedup();
        files
    }

    /// The file of an instruction or a turn of a loop: that of the function it is in.
    #[must_use]
    pub fn file(&self, frame: Option<u32>) -> &str {
        self.frame(frame).map_or("", |frame| self.text(frame.file))
    }

    /// Where an instruction was written: `file:line`. Empty where that is not said.
    #[must_use]
    pub fn location(&self, instruction: &KernelInstruction) -> String {
        match self.file(instruction.frame) {
            "" => String::new(),
            file => format!("{file}:{}", instruction.line),
        }
    }

    /// The calls that led to an instruction, the outermost first: `main (kernel.py:17) > load (tiles.py:40)`.
    #[must_use]
    pub fn call_stack(&self, instruction: &KernelInstruction) -> String {
        let frames = chain(instruction.frame, |at| self.frame(at)?.parent);
        let described = frames.iter().filter_map(|at| {
            let frame = self.frame(Some(*at))?;
            Some(format!("{} ({}:{})", self.text(frame.name), self.text(frame.file), frame.line))
        });
        described.collect::<Vec<_>>().join(" > ")
    }

    /// The turns of the loops around an instruction, the outermost first: `i=0 k=3`.
    #[must_use]
    pub fn loops(&self, instruction: &KernelInstruction) -> String {
        let turns = chain(instruction.iteration, |at| self.iteration(at)?.parent);
        let described = turns.iter().filter_map(|at| {
            let turn = self.iteration(Some(*at))?;
            Some(format!("{}={}", self.text(turn.variable), self.text(turn.value)))
        });
        described.collect::<Vec<_>>().join(" ")
    }

    /// How many calls led to an instruction, and how many loops are around it.
    #[must_use]
    pub fn depths(&self, instruction: &KernelInstruction) -> (usize, usize) {
        let calls = chain(instruction.frame, |at| self.frame(at)?.parent).len();
        (calls, chain(instruction.iteration, |at| self.iteration(at)?.parent).len())
    }

    /// The instruction with the name of a BIR instruction of a core; `penguin` is the BIR instruction's parent. `None`
    /// where there is none, and where several in different lines could be meant.
    #[must_use]
    pub fn find(&self, name: &str, core: u16, penguin: Option<u64>) -> Option<u32> {
        let first = self.by_name.partition_point(|index| &*self.instructions[*index as usize].name < name);
        let named = self.by_name[first..].iter().copied();
        let named: Vec<u32> = named.take_while(|index| &*self.instructions[*index as usize].name == name).collect();
        let of = |index: &u32| &self.instructions[*index as usize];
        // What tells instructions of one name apart counts where it is said.
        let narrowed = |found: Vec<u32>, fits: &dyn Fn(&KernelInstruction) -> bool| {
            let fitting: Vec<u32> = found.iter().copied().filter(|index| fits(of(index))).collect();
            if fitting.is_empty() { found } else { fitting }
        };
        let found = narrowed(named, &|instruction| instruction.core.is_some_and(|own| own == core));
        let found = narrowed(found, &|instruction| instruction.kernel.is_some() && instruction.kernel == penguin);
        let place = |index: &u32| (self.file(of(index).frame), of(index).line);
        let first = *found.first()?;
        found.iter().all(|index| place(index) == place(&first)).then_some(first)
    }

    /// Adds those of another program, whose cores come after `cores` others.
    pub fn append(&mut self, other: Kernels, cores: u16) {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let (texts, frames, turns) = (count(self.texts.len()), count(self.frames.len()), count(self.iterations.len()));
        let later = |index: Option<u32>, by: u32| index.map(|index| index.saturating_add(by));
        let core = |core: Option<u16>| core.map(|core| core.saturating_add(cores));
        let text = |index: u32| index.saturating_add(texts);
        self.frames.extend(other.frames.into_iter().map(|frame| KernelFrame {
            name: text(frame.name),
            file: text(frame.file),
            line: frame.line,
            parent: later(frame.parent, frames),
            core: core(frame.core),
        }));
        self.iterations.extend(other.iterations.into_iter().map(|turn| KernelIteration {
            variable: text(turn.variable),
            value: text(turn.value),
            line: turn.line,
            frame: later(turn.frame, frames),
            parent: later(turn.parent, turns),
            core: core(turn.core),
        }));
        self.instructions.extend(other.instructions.into_iter().map(|row| KernelInstruction {
            frame: later(row.frame, frames),
            iteration: later(row.iteration, turns),
            core: core(row.core),
            ..row
        }));
        self.texts.extend(other.texts);
        self.files.extend(other.files);
        self.sort();
    }

    fn sort(&mut self) {
        self.by_name = (0..u32::try_from(self.instructions.len()).unwrap_or(u32::MAX)).collect();
        let instructions = &self.instructions;
        self.by_name.sort_by(|a, b| instructions[*a as usize].name.cmp(&instructions[*b as usize].name));
    }

    fn frame(&self, index: Option<u32>) -> Option<&KernelFrame> {
        self.frames.get(index? as usize)
    }

    fn iteration(&self, index: Option<u32>) -> Option<&KernelIteration> {
        self.iterations.get(index? as usize)
    }
}

/// What leads to an item, the outermost first. Parents come before their children, so that this ends.
fn chain(innermost: Option<u32>, parent: impl Fn(Option<u32>) -> Option<u32>) -> Vec<u32> {
    let mut found: Vec<u32> = std::iter::successors(innermost, |at| parent(Some(*at))).collect();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the front-end writes it: keys in alphabetical order, so that children come before what they are children of.
    const KERNEL: &str = r#"[
      {"info":[{"func":{"children":[
          {"inst":{"line":18,"name":"inst.1"}},
          {"iter":{"children":[
              {"iter":{"children":[{"inst":{"line":21,"name":"inst.2"}}],"line":20,"val":"7","var":"k"}},
              {"func":{"children":[{"inst":{"line":5,"name":"inst.3"}}],"file":"/src/b.py","line":4,"name":"b.store"}}
            ],"line":19,"val":"0","var":"i"}}],
        "file":"/src/a.py","line":17,"name":"a.kernel"}}],"lnc":1},
      {"info":[{"func":{"children":[{"inst":{"line":30,"name":"inst.1"}}],"file":"/src/a.py","name":"a.kernel"}}],"lnc":2}
    ]"#;

    fn kernels(files: &[(&str, &str)]) -> (Kernels, Vec<String>) {
        let contents = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
        let mut problems = vec![];
        let read = read(&Archive { contents, ..Archive::default() }, &mut problems);
        (read, problems)
    }

    fn told(kernels: &Kernels, name: &str, core: u16, penguin: Option<u64>) -> Option<(String, String, String)> {
        let found = &kernels.instructions[kernels.find(name, core, penguin)? as usize];
        Some((kernels.location(found), kernels.call_stack(found), kernels.loops(found)))
    }

    #[test]
    fn instructions_have_their_line_calls_and_loops() {
        let (kernels, problems) = kernels(&[("kernel_debug_info.json", KERNEL), ("sg00/def.json", "{}")]);
        assert_eq!(problems, [""; 0]);
        let say = |location: &str, calls: &str, loops: &str| Some((location.into(), calls.into(), loops.into()));
        let main = "a.kernel (/src/a.py:17)";
        assert_eq!(told(&kernels, "inst.1", 0, None), say("/src/a.py:18", main, ""));
        assert_eq!(told(&kernels, "inst.2", 0, None), say("/src/a.py:21", main, "i=0 k=7"));
        let deeper = format!("{main} > b.store (/src/b.py:4)");
        assert_eq!(told(&kernels, "inst.3", 0, None), say("/src/b.py:5", &deeper, "i=0"));
        assert_eq!(told(&kernels, "inst.1", 1, None), say("/src/a.py:30", "a.kernel (/src/a.py:0)", ""));
        assert_eq!(told(&kernels, "inst.4", 0, None), None);
        assert_eq!(kernels.sources(), ["/src/a.py", "/src/b.py"]);
        let file = &kernels.files[0];
        assert_eq!((file.outline.as_str(), file.instructions), ("a list of 2 with info, lnc", 4));
        let deepest = &kernels.instructions[kernels.find("inst.2", 0, None).unwrap() as usize];
        assert_eq!(kernels.depths(deepest), (1, 2));
        assert_eq!(kernels.iterations[1].parent, Some(0));
    }

    #[test]
    fn one_name_in_several_kernels_is_told_apart_by_the_kernel_or_not_at_all() {
        let of = |line: u32| {
            format!(
                r#"[{{"func":{{"file":"k.py","name":"k","children":[{{"inst":{{"line":{line},"name":"inst.1"}}}}]}}}}]"#
            )
        };
        let text = format!(r#"{{"7":{},"9":{}}}"#, of(3), of(4));
        let (kernels, _) = kernels(&[("sg00/kernel_debug_info.json", &text)]);
        let line = |penguin| told(&kernels, "inst.1", 0, penguin).map(|found| found.0);
        assert_eq!((line(Some(7)), line(Some(9))), (Some("k.py:3".into()), Some("k.py:4".into())));
        assert_eq!((line(Some(8)), line(None)), (None, None));
        assert_eq!(kernels.files[0].outline, "an object with 7, 9");
    }

    #[test]
    fn what_is_in_no_known_layout_is_outlined() {
        let outline = |text: &str| {
            let (kernels, problems) = kernels(&[("kernel_debug_info.json", text)]);
            assert!(kernels.instructions.is_empty());
            (kernels.files[0].outline.clone(), problems.len())
        };
        assert_eq!(outline(r#"{"version":2,"frames":[1,{"x":2}]}"#), ("an object with version, frames".into(), 0));
        assert_eq!(outline("{}"), ("an object".into(), 0));
        assert_eq!(outline("[1,2,3]"), ("a list of 3".into(), 0));
        assert_eq!(outline("12"), ("a single value".into(), 0));
        assert_eq!(outline(""), ("nothing".into(), 1));
        assert_eq!(outline(r#"{"func":"text","inst":[1],"iter":null}"#), ("an object with func, inst, iter".into(), 0));
        assert_eq!(outline(&format!("{}{}", "[".repeat(5000), "]".repeat(5000))).1, 1);
        let many: Vec<String> = (0..400).map(|n| format!(r#""key{n}":0"#)).collect();
        assert!(outline(&format!("{{{}}}", many.join(","))).0.ends_with("key7, …"));
    }

    #[test]
    fn what_came_before_damage_is_kept_and_odd_values_are_read_as_far_as_they_go() {
        for cut in 0..KERNEL.len() {
            let (kernels, problems) = kernels(&[("kernel_debug_info.json", &KERNEL[..cut])]);
            assert_eq!(problems.len(), 1, "{cut}");
            for at in 0..kernels.instructions.len() {
                let found = &kernels.instructions[at];
                let _ = (kernels.location(found), kernels.call_stack(found), kernels.loops(found));
            }
        }
        let odd = r#"{"func":{"name":3,"file":["x"],"line":"12","children":{"inst":{"name":"a","line":-4,"more":{"inst":1}}}}}"#;
        let (kernels, problems) = kernels(&[("x.debuginfo.json", odd)]);
        assert_eq!(problems, [""; 0]);
        assert_eq!(kernels.call_stack(&kernels.instructions[0]), "3 (:12)");
        assert_eq!((kernels.instructions[0].line, kernels.location(&kernels.instructions[0])), (0, String::new()));
    }

    #[test]
    fn those_of_another_program_keep_their_own() {
        let (mut first, _) = kernels(&[("kernel_debug_info.json", KERNEL)]);
        let (second, _) = kernels(&[("kernel_debug_info.json", &KERNEL.replace("/src/", "/other/"))]);
        first.append(second, 2);
        assert_eq!(told(&first, "inst.2", 0, None).unwrap().0, "/src/a.py:21");
        let (location, calls, loops) = told(&first, "inst.3", 2, None).unwrap();
        assert_eq!((location.as_str(), loops.as_str()), ("/other/b.py:5", "i=0"));
        assert_eq!(calls, "a.kernel (/other/a.py:17) > b.store (/other/b.py:4)");
    }
}
