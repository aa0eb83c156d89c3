//! One Parquet file: its footer, and columns of its rows.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use ::parquet::basic::{ConvertedType, Encoding, Type as Physical};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::reader::{ChunkReader, Length};
use ::parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;

use crate::guard;
use crate::store::{Problem, cold};

/// A file that several threads read at once: every read names its place.
#[derive(Clone)]
struct Shared {
    file: Arc<File>,
    length: u64,
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Shared {
    type T = At;

    fn get_read(&self, start: u64) -> ParquetResult<At> {
        Ok(At { shared: self.clone(), position: start, buffer: Vec::new(), used: 0 })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // The length comes from the file: look before allocating.
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} lie beyond the end of the file")));
        }
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, start)?;
        Ok(buffer.into())
    }
}

/// A buffered reader of a [`Shared`] file from some place on.
struct At {
    shared: Shared,
    position: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl Read for At {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.used == self.buffer.len() {
            self.buffer.resize(8 << 10, 0);
            let got = self.shared.file.read_at(&mut self.buffer, self.position)?;
            self.buffer.truncate(got);
            self.position += got as u64;
            self.used = 0;
        }
        let count = out.len().min(self.buffer.len() - self.used);
        out[..count].copy_from_slice(&self.buffer[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}

/// An open Parquet file.
pub struct TableFile {
    /// Where it is.
    pub path: PathBuf,
    shared: Shared,
    /// Footer, with text columns as dictionaries of bytes.
    coded: ArrowReaderMetadata,
    /// Footer, with text columns as plain bytes.
    plain: ArrowReaderMetadata,
}

/// Some rows of one row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The row group.
    pub group: usize,
    /// First row within the group.
    pub skip: usize,
    /// Number of rows.
    pub rows: usize,
}

impl TableFile {
    /// Opens a file and reads its footer.
    ///
    /// # Errors
    /// Says in words what is wrong with the file and what to do.
    pub fn open(path: &Path) -> Result<TableFile, Problem> {
        let fail = |message: String| Problem { path: path.to_path_buf(), message };
        let file = crate::files::open(path).map_err(|e| fail(io_message(&e)))?;
        let length = file.metadata().map_err(|e| fail(io_message(&e)))?.len();
        let shared = Shared { file: Arc::new(file), length };
        let mut head = [0u8; 4];
        if length == 0 {
            return Err(fail(
                "is empty (0 bytes): the writer stopped before it began; process the capture again".into(),
            ));
        }
        let has_magic = shared.file.read_exact_at(&mut head, 0).is_ok() && head == *b"PAR1";
        let read = || -> ParquetResult<(ArrowReaderMetadata, ArrowReaderMetadata)> {
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let declared = ArrowReaderMetadata::load(&shared, options.clone())?;
            // Text is read as bytes, so that one invalid character does not cost the column.
            let schema = Arc::new(SchemaDescriptor::new(without_text(declared.parquet_schema().root_schema())?));
            let options = options.with_parquet_schema(schema);
            let plain = ArrowReaderMetadata::load(&shared, options.clone())?;
            let coded = dictionaries(plain.schema());
            let coded = ArrowReaderMetadata::try_new(plain.metadata().clone(), options.with_schema(Arc::new(coded)))?;
            Ok((coded, plain))
        };
        match guard::catch(read) {
            Some(Ok((coded, plain))) => Ok(TableFile { path: path.to_path_buf(), shared, coded, plain }),
            _ if !has_magic => {
                Err(fail("is not a Parquet file, whatever its name says; remove it or write it again".into()))
            }
            _ => Err(fail(format!(
                "its footer, which says where everything is, is damaged or cut off (the file has {length} bytes); copy the file again or process the capture again"
            ))),
        }
    }

    /// Number of rows, as the footer says.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.plain.metadata().row_groups().iter().map(|g| u64::try_from(g.num_rows()).unwrap_or(0)).sum()
    }

    /// Names of the columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.plain.schema().fields().iter().map(|f| f.name().as_str())
    }

    /// Names and types of the columns, in order, text as bytes.
    pub fn types(&self) -> impl Iterator<Item = (&str, &DataType)> {
        self.plain.schema().fields().iter().map(|f| (f.name().as_str(), f.data_type()))
    }

    /// Whether there is a column of this name.
    #[must_use]
    pub fn has(&self, column: &str) -> bool {
        self.columns().any(|c| c == column)
    }

    /// Bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shared.length
    }

    /// The rows in pieces of at most `most`, none of which crosses a row group.
    #[must_use]
    pub fn spans(&self, most: usize) -> Vec<Span> {
        let mut spans = Vec::new();
        for (group, meta) in self.plain.metadata().row_groups().iter().enumerate() {
            let rows = usize::try_from(meta.num_rows()).unwrap_or(0);
            for skip in (0..rows).step_by(most) {
                spans.push(Span { group, skip, rows: most.min(rows - skip) });
            }
        }
        spans
    }

    /// The span of the single row `row`, counted over the whole file.
    #[must_use]
    pub fn span_of_row(&self, row: u64) -> Option<Span> {
        let mut before = 0;
        for (group, meta) in self.plain.metadata().row_groups().iter().enumerate() {
            let rows = u64::try_from(meta.num_rows()).unwrap_or(0);
            if row < before + rows {
                return Some(Span { group, skip: (row - before) as usize, rows: 1 });
            }
            before += rows;
        }
        None
    }

    /// Reads those of `columns` that exist, text as dictionaries of bytes. Where some columns are damaged, the others
    /// are returned together with the problem.
    ///
    /// # Errors
    /// Says which rows are damaged, where no column can be read.
    pub fn read(&self, span: Span, columns: &[&str]) -> Result<(RecordBatch, Option<Problem>), Problem> {
        self.read_as(span, columns, &|_| true)
    }

    /// The same with text as it is stored: as dictionaries where the rows' group has one, else as plain bytes.
    ///
    /// # Errors
    /// Says which rows are damaged, where no column can be read.
    pub fn read_stored(&self, span: Span, columns: &[&str]) -> Result<(RecordBatch, Option<Problem>), Problem> {
        self.read_as(span, columns, &|name| self.is_coded(span.group, name))
    }

    /// Whether a column chunk is made of references to a dictionary, as far as its description tells.
    fn is_coded(&self, group: usize, column: &str) -> bool {
        let chunks = self.plain.metadata().row_group(group).columns();
        let Some(chunk) = chunks.iter().find(|c| c.column_path().parts().first().is_some_and(|p| p == column)) else {
            return false;
        };
        let plain_pages = chunk.page_encoding_stats_mask().is_some_and(|used| used.is_set(Encoding::PLAIN));
        chunk.dictionary_page_offset().is_some() && !plain_pages
    }

    fn read_as(
        &self,
        span: Span,
        columns: &[&str],
        coded: &dyn Fn(&str) -> bool,
    ) -> Result<(RecordBatch, Option<Problem>), Problem> {
        let wanted: Vec<&str> = self.columns().filter(|c| columns.contains(c)).collect();
        let decode = |names: &[&str]| {
            let (as_coded, as_plain): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| coded(name));
            let halves = [(&self.coded, as_coded), (&self.plain, as_plain)];
            let halves = halves.iter().filter(|(_, names)| !names.is_empty());
            halves.map(|(meta, names)| self.decode(meta, span, names)).collect::<Option<Vec<_>>>()
        };
        let (mut whole, mut damaged) = (Vec::new(), Vec::new());
        match decode(&wanted) {
            Some(halves) => whole = halves,
            None => {
                for name in &wanted {
                    match decode(&[name]) {
                        Some(column) => whole.extend(column),
                        None => damaged.push(*name),
                    }
                }
            }
        }
        let lost = |what: &str| Problem {
            path: self.path.clone(),
            message: format!(
                "{what} in rows {} to {} of row group {}; copy the file again or process the capture again",
                span.skip,
                span.skip + span.rows,
                span.group
            ),
        };
        if whole.is_empty() && !damaged.is_empty() {
            return Err(lost("damaged and left out: everything"));
        }
        let found =
            |name: &&&str| Some(((**name).to_string(), whole.iter().find_map(|b| b.column_by_name(name))?.clone()));
        let batch = cold::batch(wanted.iter().filter_map(|name| found(&name)), span.rows);
        let problem = (!damaged.is_empty()).then(|| lost(&format!("damaged and left out: {}", damaged.join(", "))));
        Ok((batch, problem))
    }

    /// Reads all columns (or those named) of some rows, text as bytes; `None` where they are damaged.
    #[must_use]
    pub fn read_plain(&self, span: Span, columns: Option<&[&str]>) -> Option<RecordBatch> {
        let all: Vec<&str> = self.columns().collect();
        self.decode(&self.plain, span, columns.unwrap_or(&all))
    }

    fn decode(&self, meta: &ArrowReaderMetadata, span: Span, columns: &[&str]) -> Option<RecordBatch> {
        let group_rows = usize::try_from(meta.metadata().row_group(span.group).num_rows()).unwrap_or(0);
        let read = || -> Option<RecordBatch> {
            let fields = meta.schema().fields();
            let roots = (0..fields.len()).filter(|&i| columns.contains(&fields[i].name().as_str()));
            let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.shared.clone(), meta.clone())
                .with_projection(ProjectionMask::roots(meta.parquet_schema(), roots))
                .with_row_groups(vec![span.group])
                .with_batch_size(span.rows.max(1));
            if span.rows < group_rows {
                let after = group_rows.saturating_sub(span.skip + span.rows);
                builder = builder.with_row_selection(RowSelection::from(vec![
                    RowSelector::skip(span.skip),
                    RowSelector::select(span.rows),
                    RowSelector::skip(after),
                ]));
            }
            let batch = builder.build().ok()?.next()?.ok()?;
            (batch.num_rows() == span.rows).then_some(batch)
        };
        guard::catch(read).flatten()
    }
}

/// What an I/O error means, in words.
#[must_use]
pub fn io_message(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "cannot be read: permission denied; ask for read access (chmod +r)".into(),
        io::ErrorKind::NotFound => "does not exist; check the path".into(),
        io::ErrorKind::InvalidInput => "is not a regular file; put the file itself there, or remove it".into(),
        _ => format!("cannot be read: {error}"),
    }
}

/// The schema with text columns declared as bytes.
fn without_text(schema: &Type) -> ParquetResult<TypePtr> {
    let info = schema.get_basic_info();
    let repetition = info.has_repetition().then(|| info.repetition());
    Ok(Arc::new(match schema {
        Type::PrimitiveType { physical_type: Physical::BYTE_ARRAY, .. } => {
            let mut builder = Type::primitive_type_builder(schema.name(), Physical::BYTE_ARRAY);
            if let Some(repetition) = repetition {
                builder = builder.with_repetition(repetition);
            }
            // Decimals may be stored in byte arrays too; they keep their meaning.
            if info.converted_type() == ConvertedType::DECIMAL {
                return Ok(Arc::new(schema.clone()));
            }
            builder.build()?
        }
        Type::PrimitiveType { .. } => schema.clone(),
        Type::GroupType { fields, .. } => {
            let fields = fields.iter().map(|f| without_text(f)).collect::<ParquetResult<_>>()?;
            let mut builder = Type::group_type_builder(schema.name())
                .with_fields(fields)
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned());
            if let Some(repetition) = repetition {
                builder = builder.with_repetition(repetition);
            }
            builder.build()?
        }
    }))
}

/// The schema with top-level byte columns as dictionaries.
fn dictionaries(schema: &Schema) -> Schema {
    let coded = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Binary));
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Binary => Arc::new(Field::new(field.name(), coded.clone(), field.is_nullable())),
        _ => field.clone(),
    });
    Schema::new(fields.collect::<Vec<_>>())
}
