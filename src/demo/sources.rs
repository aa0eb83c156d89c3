//! The Python sources that the profile points at, and where in them each operator is.
//!
//! A trailing `# @name` marks a line; marks tie operators to lines, so that the two cannot drift apart.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// File name, relative to the directory that holds the profile, and text.
pub(super) static FILES: [(&str, &str); 2] = [
    ("src/llama.py", include_str!("sources/llama.py")),
    ("src/attention_kernel.py", include_str!("sources/attention_kernel.py")),
];
const KERNEL_FILE: &str = "src/attention_kernel.py";

/// A marked source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub file: &'static str,
    /// `Class.method` or the function's name.
    pub function: String,
    pub line: i64,
}

impl Mark {
    /// `src/llama.py:12`.
    pub(super) fn location(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    /// Lies in the NKI kernel.
    pub(super) fn in_kernel(&self) -> bool {
        self.file == KERNEL_FILE
    }
}

/// Where the line with this mark is.
pub(super) fn mark(name: &str) -> &'static Mark {
    static MARKS: OnceLock<BTreeMap<&'static str, Mark>> = OnceLock::new();
    static NOWHERE: Mark = Mark { file: "src/llama.py", function: String::new(), line: 1 };
    let found = MARKS.get_or_init(find_marks).get(name);
    debug_assert!(found.is_some(), "a line is marked {name}");
    found.unwrap_or(&NOWHERE)
}

fn find_marks() -> BTreeMap<&'static str, Mark> {
    let mut marks = BTreeMap::new();
    for (file, text) in FILES {
        let (mut class, mut function) = (None, String::new());
        for (line, code) in text.lines().enumerate() {
            if let Some(rest) = code.strip_prefix("class ") {
                class = rest.split('(').next();
            } else if let Some((indent, rest)) = code.split_once("def ")
                && indent.trim().is_empty()
            {
                let name = rest.split('(').next().unwrap_or_default();
                function = match class {
                    Some(class) if !indent.is_empty() => format!("{class}.{name}"),
                    _ => name.to_owned(),
                };
            }
            if let Some((_, name)) = code.rsplit_once("# @") {
                marks.insert(name, Mark { file, function: function.clone(), line: line as i64 + 1 });
            }
        }
    }
    marks
}

/// Marks of the call chain that leads to a mark, outermost first, the mark itself included.
pub(super) fn chain(name: &'static str) -> Vec<&'static str> {
    let above: &[&str] = match name {
        "embedding" | "lm_head" => &[],
        "layer_attention" | "layer_mlp" | "residual" | "mlp_residual" => &["decoder"],
        "gate_proj" | "silu" | "up_proj" | "gate_mul" | "down_proj" | "mlp_reduce" => &["decoder", "layer_mlp"],
        "qk" | "mask" => &["decoder", "layer_attention", "attention", "call_scores"],
        "row_max" | "row_exp" | "row_scale" => &["decoder", "layer_attention", "attention", "call_softmax"],
        "transpose" | "pv" => &["decoder", "layer_attention", "attention", "call_mix"],
        _ => &["decoder", "layer_attention"],
    };
    above.iter().copied().chain([name]).collect()
}
