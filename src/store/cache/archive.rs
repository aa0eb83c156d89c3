//! A file of named columns that can be memory-mapped: an Arrow IPC file with one row per column. The field `name` says
//! which column the row holds; of the other fields, one per element type, just one is not null.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, LargeListArray, LargeStringArray, PrimitiveArray, RecordBatch,
    StringArray, new_null_array,
};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType, Field, Float32Type, Float64Type, Int64Type, Schema, SchemaRef, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow::error::ArrowError;
use arrow::ipc::convert::try_fb_to_schema;
use arrow::ipc::reader::{FileDecoder, read_footer_length};
use arrow::ipc::root_as_footer;
use arrow::ipc::writer::{FileWriter, IpcWriteOptions};

/// Element types of columns; the position is that of the schema's field, after `name`.
const TYPES: [DataType; 8] = [
    DataType::UInt8,
    DataType::UInt16,
    DataType::UInt32,
    DataType::UInt64,
    DataType::Int64,
    DataType::Float32,
    DataType::Float64,
    DataType::LargeUtf8,
];

fn schema() -> SchemaRef {
    let lists = TYPES.iter().map(|t| {
        let item = Field::new("item", t.clone(), false);
        Field::new(t.to_string(), DataType::LargeList(Arc::new(item)), true)
    });
    let fields: Vec<Field> = std::iter::once(Field::new("name", DataType::Utf8, false)).chain(lists).collect();
    Arc::new(Schema::new(fields))
}

/// Hands on at most [`PIECE`] bytes at a time, aligned.
///
/// Linux keeps what is written in pages as large as the writes, and from 6.18 on maps such a page whole when one byte of
/// it is read: after writing a column at once, a look at a thousand numbers made all of it resident.
struct Pieces<W> {
    out: W,
    written: usize,
}

/// What Linux maps around a byte that is read, at the least.
const PIECE: usize = 64 << 10;

impl<W: Write> Write for Pieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let most = PIECE - self.written % PIECE;
        let count = self.out.write(&bytes[..bytes.len().min(most)])?;
        self.written += count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes columns one after the other.
pub struct Writer<W: Write> {
    file: FileWriter<BufWriter<Pieces<W>>>,
    schema: SchemaRef,
}

impl<W: Write> Writer<W> {
    /// Starts a file.
    pub fn new(out: W) -> Result<Writer<W>, ArrowError> {
        let schema = schema();
        let options = IpcWriteOptions::try_new(64, false, arrow::ipc::MetadataVersion::V5)?;
        let out = BufWriter::with_capacity(PIECE, Pieces { out, written: 0 });
        let file = FileWriter::try_new_with_options(out, &schema, options)?;
        Ok(Writer { file, schema })
    }

    fn put(&mut self, name: &str, values: ArrayRef) -> Result<(), ArrowError> {
        let mut columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(vec![name]))];
        for (field, kind) in self.schema.fields().iter().skip(1).zip(&TYPES) {
            columns.push(if values.data_type() == kind {
                let item = Arc::new(Field::new("item", kind.clone(), false));
                let offsets = OffsetBuffer::from_lengths([values.len()]);
                Arc::new(LargeListArray::try_new(item, offsets, values.clone(), None)?)
            } else {
                new_null_array(field.data_type(), 1)
            });
        }
        self.file.write(&RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    /// Adds a column of numbers.
    pub fn numbers<T: ArrowPrimitiveType>(
        &mut self,
        name: &str,
        values: &ScalarBuffer<T::Native>,
    ) -> Result<(), ArrowError> {
        self.put(name, Arc::new(PrimitiveArray::<T>::new(values.clone(), None)))
    }

    /// Adds a column of texts.
    pub fn texts(&mut self, name: &str, values: &[String]) -> Result<(), ArrowError> {
        self.put(name, Arc::new(LargeStringArray::from_iter_values(values)))
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<(), ArrowError> {
        self.file.finish()?;
        self.file.into_inner()?.flush()?;
        Ok(())
    }
}

/// The columns of a file, most of which stay on disk until they are looked at.
pub struct Reader {
    columns: HashMap<String, ArrayRef>,
}

impl Reader {
    /// Maps a file; `None` where it is not whole.
    pub fn open(path: &Path) -> Option<Reader> {
        // The library takes offsets in a damaged file at their word.
        crate::guard::catch(|| Reader::map(path)).flatten()
    }

    fn map(path: &Path) -> Option<Reader> {
        let file = crate::files::open(path).ok()?;
        // SAFETY: caches are never changed in place: they are written under another name, renamed, and unlinked, and
        // a mapping survives that.
        let map = unsafe { memmap2::Mmap::map(&file) }.ok()?;
        // Touching a number here and there must not make whole large pages resident.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::NoHugePage);
        let buffer = Buffer::from(bytes::Bytes::from_owner(map));
        let trailer = buffer.len().checked_sub(10)?;
        let footer_length = read_footer_length(buffer[trailer..].try_into().ok()?).ok()?;
        let footer = root_as_footer(&buffer[trailer.checked_sub(footer_length)?..trailer]).ok()?;
        let schema = Arc::new(try_fb_to_schema(footer.schema()?).ok()?);
        if schema != self::schema() {
            return None;
        }
        let decoder = FileDecoder::new(schema, footer.version()).with_require_alignment(true);
        let mut columns = HashMap::new();
        for block in footer.recordBatches()? {
            let length =
                usize::try_from(block.bodyLength()).ok()?.checked_add(usize::try_from(block.metaDataLength()).ok()?)?;
            let offset = usize::try_from(block.offset()).ok()?;
            if offset.checked_add(length)? > buffer.len() {
                return None;
            }
            let batch = decoder.read_record_batch(block, &buffer.slice_with_length(offset, length)).ok()??;
            let name = batch.column(0).as_string_opt::<i32>()?.value(0).to_string();
            let list = batch.columns().iter().skip(1).find(|c| c.is_valid(0))?;
            columns.insert(name, list.as_list_opt::<i64>()?.value(0));
        }
        Some(Reader { columns })
    }

    /// A column of numbers.
    pub fn numbers<T: ArrowPrimitiveType>(&self, name: &str) -> Option<ScalarBuffer<T::Native>> {
        Some(self.columns.get(name)?.as_primitive_opt::<T>()?.values().clone())
    }

    /// A column of texts.
    pub fn texts(&self, name: &str) -> Option<Vec<String>> {
        let texts = self.columns.get(name)?.as_string_opt::<i64>()?;
        Some(texts.iter().map(|t| t.unwrap_or_default().to_string()).collect())
    }
}

/// Element types by a short name.
macro_rules! element {
    ($name:ident, $kind:ty, $native:ty) => {
        impl<W: Write> Writer<W> {
            /// Adds a column of this element type.
            pub fn $name(&mut self, name: &str, values: &ScalarBuffer<$native>) -> Result<(), ArrowError> {
                self.numbers::<$kind>(name, values)
            }
        }
        impl Reader {
            /// A column of this element type.
            pub fn $name(&self, name: &str) -> Option<ScalarBuffer<$native>> {
                self.numbers::<$kind>(name)
            }
        }
    };
}
element!(u8s, UInt8Type, u8);
element!(u16s, UInt16Type, u16);
element!(u32s, UInt32Type, u32);
element!(u64s, UInt64Type, u64);
element!(i64s, Int64Type, i64);
element!(f32s, Float32Type, f32);
element!(f64s, Float64Type, f64);
