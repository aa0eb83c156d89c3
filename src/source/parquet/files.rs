//! Which files of a directory make up which table.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::file::{TableFile, io_message};
use crate::model::natural_cmp;
use crate::source::Opening;
use crate::store::Problem;

/// A table and the files that it is split into, in order.
pub struct Table {
    /// The schema's name.
    pub name: String,
    /// Its files, each with the number of rows before it.
    pub parts: Vec<(u64, TableFile)>,
}

impl Table {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.parts.last().map_or(0, |(before, file)| before + file.rows())
    }

    /// Whether any part has the column.
    #[must_use]
    pub fn has(&self, column: &str) -> bool {
        self.parts.iter().any(|(_, file)| file.has(column))
    }

    /// The first of `columns` that the table has.
    #[must_use]
    pub fn first_of<'a>(&self, columns: &[&'a str]) -> Option<&'a str> {
        columns.iter().copied().find(|c| self.has(c))
    }

    /// Bytes of all parts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|(_, file)| file.bytes()).sum()
    }
}

/// The table that a file belongs to: `Instruction` for `Instruction.parquet` and `Instruction_3.parquet`; `None` for
/// hidden, temporary and oddly named files.
#[must_use]
pub fn table_of(file_name: &str) -> Option<&str> {
    let stem = file_name.strip_suffix(".parquet")?;
    let name = match stem.rsplit_once('_') {
        Some((name, part)) if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => stem,
    };
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(letter)).then_some(name)
}

/// Paths of the files in `directory` that hold tables, by table, parts in order.
///
/// # Errors
/// Says why the directory cannot be read.
pub fn list(directory: &Path) -> Result<BTreeMap<String, Vec<PathBuf>>, Problem> {
    let fail = |e: &std::io::Error| Problem { path: directory.to_path_buf(), message: io_message(e) };
    let mut tables: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(|e| fail(&e))? {
        let path = entry.map_err(|e| fail(&e))?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if let Some(table) = table_of(name) {
            tables.entry(table.to_string()).or_default().push(path);
        }
    }
    for parts in tables.values_mut() {
        parts.sort_by(|a, b| natural_cmp(&a.to_string_lossy(), &b.to_string_lossy()));
    }
    Ok(tables)
}

/// Opens every table of a directory: what cannot be opened is a problem of its own.
///
/// # Errors
/// Says why the directory cannot be read.
pub fn open(directory: &Path, opening: &Opening, problems: &mut Vec<Problem>) -> Result<Vec<Table>, Problem> {
    let mut tables = Vec::new();
    for (name, paths) in list(directory)? {
        let mut parts: Vec<(u64, TableFile)> = Vec::new();
        let mut rows = 0;
        for path in paths {
            if opening.cancelled() {
                return Err(super::cancelled(directory));
            }
            if path.is_dir() {
                problems.push(Problem {
                    path,
                    message: "is a directory, where a Parquet file was expected; it is ignored".into(),
                });
                continue;
            }
            match TableFile::open(&path) {
                Ok(file) => {
                    let before = rows;
                    rows += file.rows();
                    parts.push((before, file));
                }
                Err(problem) => problems.push(problem),
            }
        }
        if !parts.is_empty() {
            tables.push(Table { name, parts });
        }
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_tables() {
        assert_eq!(table_of("Instruction.parquet"), Some("Instruction"));
        assert_eq!(table_of("Instruction_12.parquet"), Some("Instruction"));
        assert_eq!(table_of("My_Table.parquet"), Some("My_Table"));
        for odd in [
            "Flow copy.parquet",
            ".Flow.parquet.tmp",
            ".Flow.parquet",
            "_metadata",
            "Flow.parquet.bak",
            "1.parquet",
            ".parquet",
        ] {
            assert_eq!(table_of(odd), None, "{odd}");
        }
    }
}
