//! Writing one Parquet table, column by column. Small enough for the demo profile, and handy for test fixtures.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, StringArray};
use arrow::array::{Int64Builder, ListBuilder};
use arrow::datatypes::{Field, Schema};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

/// A value that a column can hold. `Option` makes the column nullable.
pub trait Cell: Sized {
    /// Whether the column may hold nulls.
    const NULLABLE: bool = false;
    /// All values of a column, as one Arrow array.
    fn array(values: Vec<Self>) -> ArrayRef;
}

macro_rules! cells {
    ($($value:ty => $array:ty),+ $(,)?) => {$(
        impl Cell for $value {
            fn array(values: Vec<Self>) -> ArrayRef {
                Arc::new(<$array>::from(values))
            }
        }
        impl Cell for Option<$value> {
            const NULLABLE: bool = true;
            fn array(values: Vec<Self>) -> ArrayRef {
                Arc::new(<$array>::from(values))
            }
        }
    )+};
}
cells!(
    i64 => Int64Array, i32 => Int32Array, f32 => Float32Array, f64 => Float64Array, bool => BooleanArray,
    String => StringArray, &str => StringArray,
);

impl Cell for Vec<i64> {
    fn array(values: Vec<Self>) -> ArrayRef {
        let mut list = ListBuilder::new(Int64Builder::new());
        for row in values {
            list.values().append_slice(&row);
            list.append(true);
        }
        Arc::new(list.finish())
    }
}

/// What can go wrong while writing a table.
#[derive(Debug)]
pub struct TableError {
    path: PathBuf,
    reason: String,
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "could not write {}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for TableError {}

/// A table under construction: a name and columns of one length.
///
/// ```
/// use neuron_scope::demo::table::Table;
/// let dir = tempfile::tempdir().unwrap();
/// Table::new("Warning")
///     .col("message", ["one", "two"])
///     .col("category", [Some("Missing Data"), None])
///     .write(dir.path())
///     .unwrap();
/// ```
#[derive(Debug)]
pub struct Table {
    name: String,
    fields: Vec<Field>,
    columns: Vec<ArrayRef>,
}

impl Table {
    /// An empty table; its file will be `<name>.parquet`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), fields: Vec::new(), columns: Vec::new() }
    }

    /// Adds a column of numbers, booleans, texts or lists of numbers.
    #[must_use]
    pub fn col<T: Cell>(self, name: &str, values: impl IntoIterator<Item = T>) -> Self {
        self.array(name, T::array(values.into_iter().collect()), T::NULLABLE)
    }

    /// Adds a column that is an Arrow array already, of any type.
    #[must_use]
    pub fn array(mut self, name: &str, values: ArrayRef, nullable: bool) -> Self {
        self.fields.push(Field::new(name, values.data_type().clone(), nullable));
        self.columns.push(values);
        self
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows, taken from the first column.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.len())
    }

    /// The table as one Arrow batch.
    ///
    /// # Errors
    /// When the columns differ in length.
    pub fn batch(&self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields.clone())), self.columns.clone())
    }

    /// Writes `<dir>/<name>.parquet`, compressed with zstd, and returns its path. An existing file is replaced.
    ///
    /// # Errors
    /// When the columns differ in length or the file cannot be written.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, TableError> {
        let path = dir.join(format!("{}.parquet", self.name));
        self.write_to(&path).map_err(|e| TableError { path: path.clone(), reason: e.to_string() })?;
        Ok(path)
    }

    fn write_to(&self, path: &Path) -> Result<(), ParquetError> {
        let batch = self.batch()?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        // A plain Parquet file, as other writers make it: no embedded Arrow schema.
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let mut writer = ArrowWriter::try_new_with_options(File::create(path)?, batch.schema(), options)?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(())
    }
}
