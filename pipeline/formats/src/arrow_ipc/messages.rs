//! Where the messages of an Arrow file or stream are (Arrow columnar format, "IPC Streaming
//! Format", "IPC File Format"): a file's footer lists them; a stream is walked from message to
//! message.

use std::ops::Range;

use arrow::datatypes::SchemaRef;
use arrow::ipc::{self, MessageHeader, MetadataVersion, root_as_footer_with_opts};
use bytes::Bytes;
use flatbuffers::VerifierOptions;

use super::{corrupt, schema};
use crate::Failure;
use crate::error::FileErrorKind;
use crate::ranged::{Fetched, Ranged};

/// The first and last bytes of a file.
pub(super) const MAGIC: &[u8] = b"ARROW1";
/// Length of the footer and magic number.
const TRAILER: u64 = 10;
/// Of files that are not read whole, this much of the end: enough for most footers.
const TAIL: u64 = 64 << 10;
/// Bytes fetched where a message of a stream begins: enough for most messages' metadata.
const LOOK: u64 = 4 << 10;
/// Messages that a walk over a stream visits, each a request where the stream is not read whole.
pub(super) const MOST_STEPS: usize = 512;
const CONTINUATION: [u8; 4] = [0xff; 4];

/// A message with its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Where it begins.
    pub(super) offset: u64,
    /// Bytes of its metadata, the length before them included.
    pub(super) metadata: u64,
    /// Bytes of its body.
    pub(super) body: u64,
}

impl Block {
    pub(super) fn metadata_range(&self) -> Range<u64> {
        self.offset..self.offset + self.metadata
    }

    pub(super) fn body_range(&self) -> Range<u64> {
        let start = self.offset + self.metadata;
        start..start + self.body
    }

    pub(super) fn end(&self) -> u64 {
        self.body_range().end
    }
}

/// The messages of a file or stream.
pub(super) struct Messages {
    pub(super) schema: SchemaRef,
    /// In file order.
    pub(super) dictionaries: Vec<Block>,
    pub(super) batches: Vec<Block>,
    /// How far a stream was walked, if not to its end.
    pub(super) walked: Option<u64>,
}

/// An object of which some bytes are at hand.
pub(super) struct Content {
    pub(super) object: Ranged,
    pub(super) fetched: Fetched,
}

impl Content {
    pub(super) fn get(&self, range: Range<u64>) -> Result<Bytes, Failure> {
        match self.fetched.get(&range) {
            Some(bytes) => Ok(bytes),
            None => self.object.get(range),
        }
    }
}

/// The footer's messages of a file. A footer and each message's metadata have at most `most` bytes.
pub(super) fn of_file(content: &mut Content, most: u64) -> Result<Messages, Failure> {
    let size = content.object.size();
    if size < TRAILER + MAGIC.len() as u64 {
        return Err(cut());
    }
    if content.fetched.get(&(0..size)).is_none() {
        let tail = std::iter::once(size.saturating_sub(TAIL)..size);
        let tail = content.object.get_all(tail.collect(), 0)?;
        content.fetched.extend(tail);
    }
    let trailer = content.get(size - TRAILER..size)?;
    if !trailer.ends_with(MAGIC) {
        return Err(cut());
    }
    let length = trailer
        .first_chunk::<4>()
        .map_or(-1, |length| i32::from_le_bytes(*length));
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    let Some(start) = (size - TRAILER).checked_sub(length) else {
        return Err(corrupt(format!(
            "its footer claims {length} bytes of a file of {size}"
        )));
    };
    if length > most {
        return Err(Failure::new(
            FileErrorKind::Unsupported,
            format!("its footer alone has {length} bytes"),
        )
        .with_remedy("write the file with fewer columns or larger batches"));
    }
    let bytes = content.get(start..size - TRAILER)?;
    let footer = root_as_footer_with_opts(&verifier(), &bytes)
        .map_err(|_| corrupt("its footer is broken"))?;
    let schema = footer
        .schema()
        .ok_or_else(|| corrupt("its footer has no schema"))?;
    // Some early files leave the version out.
    if footer.version() != MetadataVersion::V1 {
        check_version(footer.version())?;
    }
    let blocks = |blocks: Option<flatbuffers::Vector<'_, ipc::Block>>| {
        let mut blocks: Vec<Block> = blocks
            .into_iter()
            .flatten()
            .map(|block| {
                let block = Block {
                    offset: length_of(block.offset())?,
                    metadata: length_of(block.metaDataLength().into())?,
                    body: length_of(block.bodyLength())?,
                };
                if block.metadata > most {
                    return Err(too_long(block.metadata));
                }
                (block.end() <= start)
                    .then_some(block)
                    .ok_or_else(|| corrupt("a batch lies beyond the file's end"))
            })
            .collect::<Result<_, _>>()?;
        // Whatever their order in the footer, rows are numbered as they lie.
        blocks.sort_by_key(|block| block.offset);
        Ok::<_, Failure>(blocks)
    };
    let dictionaries = blocks(footer.dictionaries())?;
    let batches = blocks(footer.recordBatches())?;
    let mut all: Vec<&Block> = dictionaries.iter().chain(&batches).collect();
    all.sort_by_key(|block| block.offset);
    if all.windows(2).any(|pair| pair[0].end() > pair[1].offset) {
        return Err(corrupt("its batches overlap"));
    }
    Ok(Messages {
        schema: schema::schema(schema)?,
        dictionaries,
        batches,
        walked: None,
    })
}

/// The messages of a stream, whose metadata have at most `most` bytes each; beyond `most_steps` of
/// one that is not at hand it is left.
pub(super) fn of_stream(
    content: &mut Content,
    most: u64,
    most_steps: usize,
) -> Result<Messages, Failure> {
    let size = content.object.size();
    let whole = content.fetched.get(&(0..size)).is_some();
    let mut found: Option<Messages> = None;
    let mut at = 0;
    let mut steps = 0;
    while let Some(message) = next(content, at, most)? {
        steps += 1;
        if steps > most_steps && !whole {
            break;
        }
        let Message { block, bytes } = &message;
        if block.end() > size {
            return Err(cut_stream(size));
        }
        let parsed = parse(bytes)?;
        match (&mut found, parsed.header_type()) {
            (None, MessageHeader::Schema) => {
                check_version(parsed.version())?;
                let schema = parsed
                    .header_as_schema()
                    .ok_or_else(|| corrupt("its first message is broken"))?;
                found = Some(Messages {
                    schema: schema::schema(schema)?,
                    dictionaries: Vec::new(),
                    batches: Vec::new(),
                    walked: None,
                });
            }
            (Some(messages), MessageHeader::DictionaryBatch) => {
                messages.dictionaries.push(block.clone());
            }
            (Some(messages), MessageHeader::RecordBatch) => messages.batches.push(block.clone()),
            (None, _) => return Err(corrupt("it does not begin with a schema")),
            (Some(_), _) => {
                return Err(corrupt(
                    "it has messages that belong in no stream of batches",
                ));
            }
        }
        at = block.end();
        if let Some(messages) = &mut found {
            messages.walked = Some(at);
        }
        if at == size {
            break;
        }
    }
    let mut messages = found.ok_or_else(|| corrupt("it does not begin with a schema"))?;
    if steps <= most_steps || whole {
        messages.walked = None;
    }
    Ok(messages)
}

struct Message {
    block: Block,
    /// Its metadata, the length before them included.
    bytes: Bytes,
}

/// The message that begins at `at`; none where the stream ends.
fn next(content: &mut Content, at: u64, most: u64) -> Result<Option<Message>, Failure> {
    let size = content.object.size();
    let look = match content.fetched.from(&(at..(at + 8).min(size))) {
        Some(bytes) => bytes,
        None => {
            let look = content.object.get(at..(at + LOOK).min(size))?;
            // The message's metadata are wanted again.
            content.fetched.insert(at, look.clone());
            look
        }
    };
    let Some((prefix, length)) = prefix(&look) else {
        return Err(cut_stream(size));
    };
    if length == 0 {
        return Ok(None);
    }
    let metadata = prefix + length;
    if at + metadata > size {
        return Err(cut_stream(size));
    }
    if metadata > most {
        return Err(too_long(metadata));
    }
    let bytes = if metadata <= look.len() as u64 {
        look.slice(..metadata as usize)
    } else {
        content.get(at..at + metadata)?
    };
    let body = parse(&bytes)?.bodyLength();
    let block = Block {
        offset: at,
        metadata,
        body: length_of(body)?,
    };
    Ok(Some(Message { block, bytes }))
}

/// What stands before a message's metadata: its own length, and theirs.
fn prefix(bytes: &[u8]) -> Option<(u64, u64)> {
    let first = *bytes.first_chunk::<4>()?;
    // Before Arrow 0.15 the length came first.
    let (prefix, length) = if first == CONTINUATION {
        (8, *bytes.get(4..)?.first_chunk::<4>()?)
    } else {
        (4, first)
    };
    Some((prefix, u64::from(u32::from_le_bytes(length))))
}

/// A message from its metadata, the length before them included.
pub(super) fn parse(metadata: &[u8]) -> Result<ipc::Message<'_>, Failure> {
    let wrong = || corrupt("a message is broken");
    let (prefix, _) = prefix(metadata).ok_or_else(wrong)?;
    let metadata = metadata.get(prefix as usize..).ok_or_else(wrong)?;
    ipc::root_as_message_with_opts(&verifier(), metadata).map_err(|_| wrong())
}

/// Whether these bytes begin a stream.
pub(super) fn is_stream(beginning: &[u8]) -> bool {
    match prefix(beginning) {
        Some((8, length)) => length > 0,
        // Any four bytes are a length: the message must be sound, too.
        Some((prefix, length)) => {
            let metadata = beginning.get(prefix as usize..(prefix + length) as usize);
            metadata
                .and_then(|it| ipc::root_as_message_with_opts(&verifier(), it).ok())
                .is_some_and(|message| message.header_type() == MessageHeader::Schema)
        }
        None => false,
    }
}

/// Limits of what is believed of a message before it is looked at: each part may stand for many.
fn verifier() -> VerifierOptions {
    VerifierOptions {
        max_tables: 200_000,
        max_apparent_size: 64 << 20,
        ..VerifierOptions::default()
    }
}

fn check_version(version: MetadataVersion) -> Result<(), Failure> {
    if [MetadataVersion::V4, MetadataVersion::V5].contains(&version) {
        return Ok(());
    }
    let cause = "its version of Arrow's format is not known to this reader";
    Err(Failure::new(FileErrorKind::Unsupported, cause)
        .with_remedy("write it again with another version of Arrow, or as Parquet"))
}

fn length_of(number: i64) -> Result<u64, Failure> {
    // Sums of a few of them stay far from the end of their range.
    u64::try_from(number)
        .ok()
        .filter(|number| *number < 1 << 60)
        .ok_or_else(|| corrupt("a message's length is no length"))
}

fn too_long(metadata: u64) -> Failure {
    let cause = format!("a message has {metadata} bytes besides its values");
    Failure::new(FileErrorKind::Unsupported, cause).with_remedy("write the file with fewer columns")
}

fn cut() -> Failure {
    corrupt("it begins as an Arrow file but has no footer: it is cut off")
}

fn cut_stream(size: u64) -> Failure {
    corrupt(format!(
        "its last message does not end within its {size} bytes: it is cut off"
    ))
}
