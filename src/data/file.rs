//! The bytes of one file, plain or gzipped, told apart by content and never by name.
//!
//! The trap is a header that lies. [`FileReader::body`] compares the declared size with what the file can hold
//! before it makes room, unpacks no more than that, and insists that the file ends there.

use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::error::SampleError;

/// What every gzip file starts with (RFC 1952 §2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Deflate cannot do better: 258 bytes out of 2 bits (zlib's technical notes on the maximum compression factor).
const DEFLATE_LIMIT: u64 = 1032;
/// Enough of a file to tell what it is: the longest mark we know (PNG's) has 8 bytes.
const START: u64 = 8;

/// Reads one file front to back: [`header`](Self::header)s first, then the [`body`](Self::body).
pub(super) struct FileReader {
    path: PathBuf,
    stream: Box<dyn Read>,
    /// The first bytes, unpacked, to tell formats apart.
    start: Vec<u8>,
    /// Length of the file as stored.
    stored: u64,
    packed: bool,
    /// Unpacked bytes handed out so far.
    at: u64,
}

impl FileReader {
    /// Opens a file that is not empty.
    pub fn open(path: &Path) -> Result<Self, SampleError> {
        let fail = |error| SampleError::io(path, error);
        let metadata = fs::metadata(path).map_err(fail)?;
        if metadata.is_dir() {
            return Err(SampleError::no_data(path, "is a directory, a file is needed"));
        }
        if !metadata.is_file() {
            return Err(SampleError::no_data(path, "is not a regular file"));
        }
        let mut file = File::open(path).map_err(fail)?;
        let mut magic = Vec::new();
        (&mut file).take(2).read_to_end(&mut magic).map_err(fail)?;
        file.rewind().map_err(fail)?;

        let packed = magic == GZIP_MAGIC;
        let file = BufReader::new(file);
        let mut reader = Self {
            path: path.to_owned(),
            stream: if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) },
            start: Vec::new(),
            stored: metadata.len(),
            packed,
            at: 0,
        };
        let start = reader.read_up_to(START)?;
        if start.is_empty() {
            return Err(SampleError::no_data(path, "the file is empty"));
        }
        let rest = std::mem::replace(&mut reader.stream, Box::new(io::empty()));
        reader.stream = Box::new(Cursor::new(start.clone()).chain(rest));
        reader.start = start;
        reader.at = 0;
        Ok(reader)
    }

    /// Bytes that came from a file, and are not empty.
    pub fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, SampleError> {
        if bytes.is_empty() {
            return Err(SampleError::no_data(path, "is empty"));
        }
        Ok(Self {
            path: path.to_owned(),
            start: bytes[..bytes.len().min(START as usize)].to_vec(),
            stored: bytes.len() as u64,
            stream: Box::new(Cursor::new(bytes)),
            packed: false,
            at: 0,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn packed(&self) -> bool {
        self.packed
    }

    /// Whether the unpacked file starts with this mark (of at most 8 bytes).
    pub fn starts_with(&self, mark: &[u8]) -> bool {
        self.start.starts_with(mark)
    }

    /// "Not what was wanted", with the first bytes as evidence: an HTML page saved by mistake shows itself.
    pub fn not(&self, wanted: &str) -> SampleError {
        let start = self.start.escape_ascii();
        let problem = format!("not {wanted} (it starts with \"{start}\")");
        SampleError::unsupported(&self.path, problem)
    }

    /// The next `len` bytes; a file that ends inside them is cut short.
    pub fn header(&mut self, len: u64, part: &str) -> Result<Vec<u8>, SampleError> {
        let from = self.at;
        let bytes = self.read_up_to(len)?;
        if (bytes.len() as u64) < len {
            return Err(self.cut_short(part, from, len, bytes.len() as u64));
        }
        Ok(bytes)
    }

    /// The `len` bytes that are left; more or fewer are an error.
    pub fn body(mut self, len: u64, part: &str) -> Result<Vec<u8>, SampleError> {
        let from = self.at;
        if self.packed {
            if len > self.stored.saturating_mul(DEFLATE_LIMIT) {
                let stored = self.stored;
                return Err(self.damaged(format!(
                    "cut short: {part} needs {len} bytes, more than {stored} gzipped bytes can hold"
                )));
            }
        } else {
            let left = self.stored.saturating_sub(from);
            if left < len {
                return Err(self.cut_short(part, from, len, left));
            }
        }
        let bytes = self.read_up_to(len.saturating_add(1))?;
        let found = bytes.len() as u64;
        if found < len {
            return Err(self.cut_short(part, from, len, found));
        }
        if found > len {
            let end = from + len;
            return Err(self.damaged(format!(
                "{part} should end at byte {end}, but more follows: the counts in the header do not match the data"
            )));
        }
        Ok(bytes)
    }

    /// All that is left, as long as it has at most `limit` bytes.
    pub fn rest(mut self, limit: u64) -> Result<Vec<u8>, SampleError> {
        let bytes = self.read_up_to(limit.saturating_add(1))?;
        if bytes.len() as u64 > limit {
            let problem = format!("too long: more than {limit} bytes of text");
            return Err(SampleError::unsupported(&self.path, problem));
        }
        Ok(bytes)
    }

    fn read_up_to(&mut self, len: u64) -> Result<Vec<u8>, SampleError> {
        let mut bytes = Vec::new();
        let result = (&mut self.stream).take(len).read_to_end(&mut bytes);
        self.at += bytes.len() as u64;
        match result {
            Ok(_) => Ok(bytes),
            Err(error) if self.packed => {
                let at = self.at;
                let damage = match error.kind() {
                    io::ErrorKind::UnexpectedEof => "cut short".to_owned(),
                    _ => error.to_string(),
                };
                Err(self.damaged(format!("broken gzip data after {at} unpacked bytes: {damage}")))
            }
            Err(error) => Err(SampleError::io(&self.path, error)),
        }
    }

    fn cut_short(&self, part: &str, from: u64, needed: u64, found: u64) -> SampleError {
        self.damaged(format!(
            "cut short: {part} needs {needed} bytes from byte {from} on, {found} are there"
        ))
    }

    fn damaged(&self, problem: String) -> SampleError {
        SampleError::damaged(&self.path, problem)
    }
}

/// Files for the tests of this room.
#[cfg(test)]
pub(super) mod scratch {
    use std::io::Write;
    use std::path::PathBuf;

    use flate2::{Compression, write::GzEncoder};
    use tempfile::TempDir;

    pub fn folder() -> TempDir {
        tempfile::tempdir().expect("a temporary directory can be made")
    }

    pub fn write(folder: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a temporary file can be written");
        path
    }

    pub fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("memory takes all bytes");
        encoder.finish().expect("memory takes all bytes")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::scratch::{folder, gzip, write};
    use super::*;

    fn body_of(bytes: &[u8], len: u64) -> Result<Vec<u8>, String> {
        let folder = folder();
        let path = write(&folder, "file", bytes);
        FileReader::open(&path)
            .and_then(|file| file.body(len, "the test"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn packed_and_plain_files_read_the_same_whatever_their_name() {
        let bytes: Vec<u8> = (0..100).collect();
        assert_eq!(body_of(&bytes, 100).unwrap(), bytes);
        assert_eq!(body_of(&gzip(&bytes), 100).unwrap(), bytes);
    }

    #[test]
    fn a_header_is_given_out_before_the_body() {
        let folder = folder();
        let path = write(&folder, "file", gzip(b"headbody"));
        let mut file = FileReader::open(&path).unwrap();
        assert!(file.starts_with(b"head"));
        assert_eq!(file.header(4, "the head").unwrap(), b"head");
        assert_eq!(file.body(4, "the body").unwrap(), b"body");
    }

    #[test]
    fn too_few_and_too_many_bytes_are_refused() {
        for bytes in [b"12345".to_vec(), gzip(b"12345")] {
            let error = body_of(&bytes, 6).unwrap_err();
            assert!(
                error.contains("the test needs 6 bytes from byte 0 on, 5 are there"),
                "{error}"
            );
            let error = body_of(&bytes, 4).unwrap_err();
            assert!(error.contains("should end at byte 4, but more follows"), "{error}");
        }
    }

    #[test]
    fn an_empty_file_is_refused_packed_or_not() {
        for bytes in [Vec::new(), gzip(b"")] {
            assert!(body_of(&bytes, 0).unwrap_err().ends_with("the file is empty"));
        }
    }

    #[test]
    fn impossible_sizes_are_refused_without_making_room() {
        for bytes in [b"1".to_vec(), gzip(b"1")] {
            let error = body_of(&bytes, u64::MAX).unwrap_err();
            assert!(error.contains("cut short"), "{error}");
        }
    }

    #[test]
    fn a_gzip_bomb_is_unpacked_only_as_far_as_declared() {
        let bomb = gzip(&vec![0; 50_000_000]);
        let error = body_of(&bomb, 1000).unwrap_err();
        assert!(error.contains("should end at byte 1000"), "{error}");
    }

    #[test]
    fn gzip_data_cut_short_or_corrupt_is_said_to_be() {
        let bytes: Vec<u8> = (0..=255).cycle().take(4000).collect();
        let packed = gzip(&bytes);
        for keep in 2..packed.len() {
            let error = body_of(&packed[..keep], 4000).unwrap_err();
            assert!(error.contains("broken gzip data"), "{keep}: {error}");
        }
        for flip in [packed.len() / 2, packed.len() - 6] {
            let mut corrupt = packed.clone();
            corrupt[flip] ^= 0xff;
            assert!(body_of(&corrupt, 4000).is_err(), "byte {flip}");
        }
    }

    #[test]
    fn a_missing_file_and_a_directory_are_named() {
        let folder = folder();
        let missing = FileReader::open(&folder.path().join("nowhere")).err().unwrap();
        assert!(missing.to_string().contains("nowhere: "), "{missing}");
        let directory = FileReader::open(folder.path()).err().unwrap();
        assert!(directory.to_string().ends_with("is a directory, a file is needed"));
    }
}
