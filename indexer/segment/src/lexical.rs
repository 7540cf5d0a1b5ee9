//! The lexical side: a tantivy index of one segment, one document per block.
//!
//! Document numbers are block numbers. The four fields hold term frequencies and nothing else: no
//! positions, no norms (exact lengths are in `blocks.rs`), no stored or fast fields. A fifth one,
//! `whole`, has names, values and codes as a whole (`whole.rs`), each once a block; segments of
//! format 1 have none. tantivy sees
//! text that is analyzed already, terms joined by spaces, so that its own `whitespace` tokenizer is
//! all that a foreign reader needs.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock};

use tantivy::directory::RamDirectory;
use tantivy::postings::Postings;
use tantivy::schema::{
    Field as TantivyField, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{
    DocSet, Index, IndexSettings, InvertedIndexReader, SegmentReader, TERMINATED, TantivyDocument,
    Term,
};

use tantivy::Directory;
use tantivy::SingleSegmentIndexWriter;

use crate::analyzer::analyze_into;
use crate::chunks::{ChunkedFile, Generation};
use crate::directory::{SectionDirectory, clear_last_error, take_last_error};
use crate::error::SegmentError;
use crate::languages::{Language, MARK, TableLanguages, marked_into, pairs_into};
use crate::near::Near;
use crate::short::ShortTerms;
use crate::table::{Block, Field};
use crate::whole;

/// Only sizes the first hash table: the single-segment writer never flushes early.
const WRITER_MEMORY: usize = 30 << 20;
/// tantivy names its files at random; here they are always this.
const SEGMENT_NAME: &str = "00000000000000000000000000000000";
/// The field of whole terms.
const WHOLE: &str = "whole";
const SEGMENT_UUID: &str = "00000000-0000-0000-0000-000000000000";

fn schema() -> (Schema, [TantivyField; 4], TantivyField) {
    let options = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer("whitespace")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::WithFreqs),
    );
    let mut builder = Schema::builder();
    let fields = Field::ALL.map(|field| builder.add_text_field(field.name(), options.clone()));
    let whole = builder.add_text_field(WHOLE, options);
    (builder.build(), fields, whole)
}

/// The terms of one block: of a text that was analyzed, or as another segment has them.
///
/// Their order within a field is nobody's concern: the index keeps no positions.
#[derive(Default)]
pub(crate) struct BlockTerms {
    /// Of each field, joined by spaces.
    texts: [String; 4],
    /// The exact number of terms of each field, without marked ones.
    pub(crate) lengths: [u32; 4],
    /// Its whole terms, each once, joined by spaces.
    whole: String,
}

impl BlockTerms {
    /// The terms of a block's fields, of a table in these languages.
    pub(crate) fn analyzed(block: &Block, languages: &TableLanguages) -> BlockTerms {
        let mut terms = BlockTerms::default();
        let mut marked: BTreeSet<Language> = BTreeSet::new();
        for (field, text) in &block.fields {
            analyze_into(text, &mut |term: &str| terms.push(*field, term, 1));
            pairs_into(text, &mut |term| terms.push(*field, term, 1));
            marked_into(text, languages.of_field(*field), &mut |language, term| {
                marked.insert(language);
                terms.push(*field, term, 1);
            });
        }
        for term in whole::of_block(block) {
            terms.push_whole(&term);
        }
        for language in marked {
            terms.push_whole(&whole::language_term(language));
        }
        terms
    }

    /// Adds a whole term that it does not have.
    pub(crate) fn push_whole(&mut self, term: &str) {
        if !self.whole.is_empty() {
            self.whole.push(' ');
        }
        self.whole.push_str(term);
    }

    /// Adds a term so many times. Marked ones are no words, and count nothing in lengths.
    pub(crate) fn push(&mut self, field: Field, term: &str, times: u32) {
        let text = &mut self.texts[field.index()];
        for _ in 0..times {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(term);
        }
        if !term.starts_with(MARK) {
            self.lengths[field.index()] += times;
        }
    }
}

/// Writes the lexical index of a segment, block by block.
pub(crate) struct LexicalWriter {
    writer: SingleSegmentIndexWriter,
    directory: RamDirectory,
    fields: [TantivyField; 4],
    whole: TantivyField,
}

impl LexicalWriter {
    pub(crate) fn new() -> Result<LexicalWriter, SegmentError> {
        let (schema, fields, whole) = schema();
        let directory = RamDirectory::create();
        let writer = Index::builder()
            .schema(schema)
            .settings(IndexSettings {
                docstore_compression: Compressor::Zstd(ZstdCompressor::default()),
                docstore_compress_dedicated_thread: false,
                ..IndexSettings::default()
            })
            .single_segment_index_writer(directory.clone(), WRITER_MEMORY)
            .map_err(failed)?;
        Ok(LexicalWriter {
            writer,
            directory,
            fields,
            whole,
        })
    }

    /// Adds the next block.
    pub(crate) fn add(&mut self, terms: &BlockTerms) -> Result<(), SegmentError> {
        let mut document = TantivyDocument::new();
        for (field, text) in self.fields.iter().zip(&terms.texts) {
            if !text.is_empty() {
                document.add_text(*field, text);
            }
        }
        if !terms.whole.is_empty() {
            document.add_text(self.whole, &terms.whole);
        }
        self.writer.add_document(document).map_err(failed)?;
        Ok(())
    }

    /// The files, by name; the same blocks give the same bytes.
    pub(crate) fn finish(self) -> Result<Vec<(String, Vec<u8>)>, SegmentError> {
        let index = self.writer.finalize().map_err(failed)?;
        let meta = self
            .directory
            .atomic_read("meta.json".as_ref())
            .map_err(|e| failed(e.into()))?;
        let metas = index.load_metas().map_err(failed)?;
        let [segment] = metas.segments.as_slice() else {
            return Err(SegmentError::invalid(
                "the segment",
                "tantivy made several segments",
            ));
        };
        let name = segment.id().uuid_string();
        let hyphenated: String = [0..8, 8..12, 12..16, 16..20, 20..32]
            .map(|r| &name[r])
            .join("-");
        let meta = String::from_utf8_lossy(&meta)
            .replace(&hyphenated, SEGMENT_UUID)
            .replace(&name, SEGMENT_NAME);
        let mut files = Vec::new();
        for path in metas.list_segment_files() {
            if self.directory.exists(&path).unwrap_or(false) {
                let bytes = self
                    .directory
                    .atomic_read(&path)
                    .map_err(|e| failed(e.into()))?;
                let path = path.to_string_lossy().replace(&name, SEGMENT_NAME);
                files.push((path, bytes));
            }
        }
        files.push(("meta.json".to_owned(), meta.into_bytes()));
        files.sort();
        Ok(files)
    }
}

fn failed(e: tantivy::TantivyError) -> SegmentError {
    SegmentError::invalid("the segment", e.to_string())
}

/// Reads the lexical index of a segment.
pub(crate) struct LexicalReader {
    object: String,
    blocks: u32,
    file: Arc<ChunkedFile>,
    directory: SectionDirectory,
}

/// tantivy's reader, and its readers of the fields; these hold the dictionaries of terms.
pub(crate) struct OpenLexical {
    reader: SegmentReader,
    fields: [TantivyField; 4],
    inverted: [OnceLock<Arc<InvertedIndexReader>>; 4],
    /// None in segments of format 1.
    whole: Option<(TantivyField, OnceLock<Arc<InvertedIndexReader>>)>,
}

impl LexicalReader {
    /// Reads hot bytes only.
    pub(crate) fn open(
        file: &Arc<ChunkedFile>,
        directory: SectionDirectory,
        blocks: u32,
    ) -> Result<LexicalReader, SegmentError> {
        let lexical = LexicalReader {
            object: file.object().to_owned(),
            blocks,
            file: Arc::clone(file),
            directory,
        };
        let generation = lexical.file.current();
        lexical.opened(&generation)?;
        Ok(lexical)
    }

    /// tantivy's reader, which goes with the file that its dictionaries are of.
    fn opened<'g>(&self, generation: &'g Generation) -> Result<&'g OpenLexical, SegmentError> {
        let slot = &generation.opened.lexical;
        if let Some(open) = slot.get() {
            return Ok(open);
        }
        let (reader, fields, whole) = guarded(&self.object, || {
            let index = Index::open(self.directory.clone())?;
            let mut fields = [TantivyField::from_field_id(0); 4];
            for (slot, field) in fields.iter_mut().zip(Field::ALL) {
                *slot = index.schema().get_field(field.name())?;
            }
            let segments = index.searchable_segments()?;
            let [segment] = segments.as_slice() else {
                return Err(tantivy::TantivyError::InternalError(format!(
                    "{} tantivy segments instead of one",
                    segments.len()
                )));
            };
            let whole = index.schema().get_field(WHOLE).ok();
            Ok((SegmentReader::open(segment)?, fields, whole))
        })?;
        if reader.max_doc() != self.blocks {
            return Err(SegmentError::damaged(
                &self.object,
                format!(
                    "it has {} blocks and {} documents",
                    self.blocks,
                    reader.max_doc()
                ),
            ));
        }
        Ok(slot.get_or_init(|| OpenLexical {
            reader,
            fields,
            inverted: Default::default(),
            whole: whole.map(|field| (field, OnceLock::new())),
        }))
    }

    fn inverted(
        &self,
        field: Field,
    ) -> Result<(TantivyField, Arc<InvertedIndexReader>), SegmentError> {
        let generation = self.file.current();
        let open = self.opened(&generation)?;
        let known = open.fields[field.index()];
        let reader = self.inverted_in(open, known, &open.inverted[field.index()])?;
        Ok((known, reader))
    }

    /// The reader of whole terms, if there are any.
    fn inverted_whole(
        &self,
    ) -> Result<Option<(TantivyField, Arc<InvertedIndexReader>)>, SegmentError> {
        let generation = self.file.current();
        let open = self.opened(&generation)?;
        let Some((known, slot)) = &open.whole else {
            return Ok(None);
        };
        Ok(Some((*known, self.inverted_in(open, *known, slot)?)))
    }

    fn inverted_in(
        &self,
        open: &OpenLexical,
        field: TantivyField,
        slot: &OnceLock<Arc<InvertedIndexReader>>,
    ) -> Result<Arc<InvertedIndexReader>, SegmentError> {
        if let Some(reader) = slot.get() {
            return Ok(Arc::clone(reader));
        }
        let reader = guarded(&self.object, || open.reader.inverted_index(field))?;
        Ok(Arc::clone(slot.get_or_init(|| reader)))
    }

    /// Calls `visit` with each term of a field, and for each block that has it how often, as
    /// `(term, block, times)`: terms in order, blocks of a term in order.
    pub(crate) fn all_postings(
        &self,
        field: Field,
        visit: &mut dyn FnMut(&str, u32, u32),
    ) -> Result<(), SegmentError> {
        let (_, inverted) = self.inverted(field)?;
        self.all_of(&inverted, visit)
    }

    /// As [`all_postings`](Self::all_postings), of whole terms, which a block has or has not.
    pub(crate) fn all_whole(&self, visit: &mut dyn FnMut(&str, u32)) -> Result<(), SegmentError> {
        match self.inverted_whole()? {
            Some((_, inverted)) => self.all_of(&inverted, &mut |term, block, _| visit(term, block)),
            None => Ok(()),
        }
    }

    fn all_of(
        &self,
        inverted: &InvertedIndexReader,
        visit: &mut dyn FnMut(&str, u32, u32),
    ) -> Result<(), SegmentError> {
        guarded(&self.object, || {
            let wrong = |what: &str| tantivy::TantivyError::InternalError(what.to_owned());
            let mut terms = inverted.terms().stream()?;
            while terms.advance() {
                let term = std::str::from_utf8(terms.key())
                    .map_err(|_| wrong("a term is not UTF-8"))?
                    .to_owned();
                let mut postings = inverted
                    .read_postings_from_terminfo(terms.value(), IndexRecordOption::WithFreqs)?;
                let mut block = postings.doc();
                while block != TERMINATED {
                    if block >= self.blocks {
                        return Err(wrong("its postings name blocks that it does not have"));
                    }
                    visit(&term, block, postings.term_freq());
                    block = postings.advance();
                }
            }
            Ok(())
        })
    }

    /// Calls `visit` with each term of a field that is near a word, in order.
    pub(crate) fn near(
        &self,
        field: Field,
        near: &Near,
        visit: &mut dyn FnMut(&str),
    ) -> Result<(), SegmentError> {
        let (_, inverted) = self.inverted(field)?;
        guarded(&self.object, || {
            let mut terms = inverted.terms().search(near).into_stream()?;
            while terms.advance() {
                // It has small letters only.
                visit(&String::from_utf8_lossy(terms.key()));
            }
            Ok(())
        })
    }

    /// Calls `visit` with each term of a field that a word is written short as, in order.
    pub(crate) fn short(
        &self,
        field: Field,
        short: &ShortTerms,
        visit: &mut dyn FnMut(&str),
    ) -> Result<(), SegmentError> {
        let (_, inverted) = self.inverted(field)?;
        guarded(&self.object, || {
            let mut terms = inverted.terms().search(short).into_stream()?;
            while terms.advance() {
                // It has small letters only.
                visit(&String::from_utf8_lossy(terms.key()));
            }
            Ok(())
        })
    }

    /// Calls `visit` with runs of blocks that have the term, and how often each has it; in block
    /// order.
    pub(crate) fn postings(
        &self,
        field: Field,
        term: &str,
        visit: &mut dyn FnMut(&[u32], &[u32]),
    ) -> Result<(), SegmentError> {
        let (known, inverted) = self.inverted(field)?;
        self.walk(&inverted, &Term::from_field_text(known, term), visit)
    }

    /// Calls `visit` with runs of blocks that have each of some whole terms, and the term's place
    /// among them.
    pub(crate) fn whole(
        &self,
        terms: &[String],
        visit: &mut dyn FnMut(usize, &[u32]),
    ) -> Result<(), SegmentError> {
        let Some((known, inverted)) = self.inverted_whole()? else {
            return Ok(());
        };
        for (at, term) in terms.iter().enumerate() {
            let term = Term::from_field_text(known, term);
            self.walk(&inverted, &term, &mut |blocks, _| visit(at, blocks))?;
        }
        Ok(())
    }

    fn walk(
        &self,
        inverted: &InvertedIndexReader,
        term: &Term,
        visit: &mut dyn FnMut(&[u32], &[u32]),
    ) -> Result<(), SegmentError> {
        clear_last_error();
        let mut visiting = false;
        let mut wrong = None;
        let walk = catch_unwind(AssertUnwindSafe(|| -> std::io::Result<()> {
            let found = inverted.read_block_postings(term, IndexRecordOption::WithFreqs)?;
            let Some(mut postings) = found else {
                return Ok(());
            };
            while !postings.docs().is_empty() {
                let blocks = postings.docs();
                let times = postings.freqs().get(..blocks.len());
                let Some(times) = times.filter(|_| blocks.iter().all(|it| *it < self.blocks))
                else {
                    wrong = Some(match times {
                        Some(_) => "its postings name blocks that it does not have",
                        None => "its postings do not say how often blocks have a term",
                    });
                    break;
                };
                visiting = true;
                visit(blocks, times);
                visiting = false;
                postings.advance();
            }
            Ok(())
        }));
        match walk {
            Ok(Ok(())) => match wrong {
                None => Ok(()),
                Some(detail) => Err(SegmentError::damaged(&self.object, detail)),
            },
            Ok(Err(e)) => Err(to_segment_error(&self.object, e.into())),
            // The caller's own panic is not ours to hide.
            Err(panic) if visiting => resume_unwind(panic),
            Err(_) => Err(unreadable(&self.object)),
        }
    }
}

/// Runs tantivy code: its errors and (on hostile bytes) panics become errors about the object.
fn guarded<T>(object: &str, run: impl FnOnce() -> tantivy::Result<T>) -> Result<T, SegmentError> {
    clear_last_error();
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(e)) => Err(to_segment_error(object, e)),
        Err(_) => Err(take_last_error().unwrap_or_else(|| unreadable(object))),
    }
}

fn to_segment_error(object: &str, e: tantivy::TantivyError) -> SegmentError {
    take_last_error().unwrap_or_else(|| {
        SegmentError::damaged(object, format!("its lexical index cannot be read ({e})"))
    })
}

fn unreadable(object: &str) -> SegmentError {
    SegmentError::damaged(object, "its lexical index cannot be read")
}
