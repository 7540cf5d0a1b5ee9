//! Files whose names have no extension: the first bytes show what they are.
//!
//! Such a name promises nothing, so whatever is not clearly a table is passed over
//! ([`FileErrorKind::NoTable`]), and no more than [`LOOK`] bytes of it are fetched.

use limn_store::Store;

use super::input::Fetched;
use super::json::holds::{Holds, holds};
use super::{Failure, ReadOptions, parse, sniff};
use crate::compression::Compression;
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::format::Format;

/// Bytes that show what a file is.
const LOOK: u64 = 64 << 10;

/// The file as its content shows it to be, of one whose name has no extension; any other as it is.
///
/// # Errors
/// The store's; [`FileErrorKind::NoTable`].
pub(super) async fn shown(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<DataFile, Failure> {
    if file.format != Format::Unnamed {
        return Ok(file.clone());
    }
    let (size, path) = (file.object.size, file.object.path.as_str());
    if size == 0 {
        return Err(no_table("it has no bytes"));
    }
    let etag = file.object.etag.as_deref();
    let bytes = store.get_range_of(path, etag, 0..size.min(LOOK)).await?;
    let format = match sniff::format_of(&bytes) {
        Some(format) => format,
        None => {
            let beginning = Fetched::beginning(bytes, size);
            let options = options.clone();
            parse(move || of_text(beginning, &options)).await?
        }
    };
    Ok(DataFile {
        format,
        ..file.clone()
    })
}

/// What a text is that begins so.
fn of_text(beginning: Fetched, options: &ReadOptions) -> Result<Format, Failure> {
    // What is wrong with it, the reader of plain text says.
    let Ok(input) = beginning.into_text("plain text", "", options) else {
        return Ok(Format::Text);
    };
    let text = input.pieces.first().map_or(&[][..], |piece| &piece.bytes);
    let text = sniff::without_bom(text).trim_ascii();
    if !sniff::is_json(text) {
        return Ok(Format::Text);
    }
    if input.is_whole() && holds(text) == Holds::One && text.contains(&b'\n') {
        return Err(no_table("it is a single value of JSON, over several lines"));
    }
    Ok(Format::JsonLines)
}

/// What becomes of a failure to open such a file within an archive.
pub(super) fn if_it_was_promised(failure: Failure, file: &DataFile) -> Failure {
    let is_promised =
        file.format != Format::Unnamed || Compression::of_path(&file.object.path).is_some();
    match &failure {
        Failure::Content {
            kind: FileErrorKind::Unsupported,
            ..
        } if !is_promised => no_table(failure.cause()),
        _ => failure,
    }
}

fn no_table(cause: impl Into<String>) -> Failure {
    Failure::new(FileErrorKind::NoTable, cause)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::sync::Arc;

    use ::parquet::arrow::ArrowWriter;
    use arrow::array::{ArrayRef, Int32Array, RecordBatch};

    use crate::error::FileErrorKind;
    use crate::tests::{read, read_with};
    use crate::{FileError, ReadOptions};

    const NAME: &str = "out/delivery-1-2024-06-01-00-00-00-uuid";

    fn small_file() -> Vec<u8> {
        let ids = Int32Array::from(vec![1, 2, 3]);
        let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as ArrayRef)]).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn failure(path: &str, content: impl Into<bytes::Bytes>) -> FileError {
        read_with(path, content, &ReadOptions::default())
            .0
            .unwrap_err()
    }

    #[test]
    fn content_shows_what_a_file_without_an_extension_is() {
        let lines = "{\"id\":1,\"name\":\"ada\"}\n{\"id\":2,\"name\":\"bob\"}\n";
        let packed = |text: &str| zstd::encode_all(text.as_bytes(), 0).unwrap();
        for (path, content, format, rows) in [
            (NAME, lines.into(), "jsonlines", 2),
            (NAME, lines.replace('\n', "").into_bytes(), "jsonlines", 2),
            (NAME, "{\"id\":1}\n".into(), "jsonlines", 1),
            ("0000_part_00.gz", packed(lines), "jsonlines", 2),
            (
                NAME,
                b"id|name|n\n1|ada|2.5\n2|bob|3.5\n3|cyd|4.5\n".to_vec(),
                "text",
                3,
            ),
            (
                "000000_0",
                b"id,name\n1,ada\n2,bob\n3,cyd\n".to_vec(),
                "text",
                3,
            ),
            ("part-00000", small_file(), "parquet", 3),
        ] {
            let summary = read(path, content);
            assert_eq!(summary.format.as_deref(), Some(format), "{path}");
            assert_eq!(summary.rows, rows, "{path} {format}");
        }
    }

    #[test]
    fn what_is_no_table_is_no_failure() {
        for content in [
            &b""[..],
            b"Dear all,\n\nthe report is done.\n",
            b"\x00\x01\x02binary",
            b"%PDF-1.7",
            b"{\n  \"theme\": \"dark\",\n  \"tabs\": 4\n}\n",
            b"PK\x03\x04\0\0\0",
            b"ORCS are\nnot here\n",
        ] {
            let error = failure(NAME, content.to_vec());
            assert_eq!(error.kind, FileErrorKind::NoTable, "{error}");
        }
        // What is surely one and damaged is an error.
        assert_eq!(
            failure(NAME, small_file()[..90].to_vec()).kind,
            FileErrorKind::Corrupt
        );
        let damaged = b"\x1f\x8b\x08\0\0\0\0\0\0\xffdamaged".to_vec();
        assert_eq!(
            failure("0000_part_00.gz", damaged).kind,
            FileErrorKind::Corrupt
        );
    }

    #[test]
    fn of_what_is_no_table_a_small_range_is_read() {
        let blob = vec![7u8; 8 << 20];
        let (read, counts) = read_with(NAME, blob, &ReadOptions::default());
        assert_eq!(read.unwrap_err().kind, FileErrorKind::NoTable);
        assert!(counts.bytes_read <= (64 << 10) + (256 << 10), "{counts:?}");
    }
}
