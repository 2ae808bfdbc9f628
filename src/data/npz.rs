//! Arrays in NumPy's `.npz` archives: `arrays.npz:x_test`, or the archive alone where it holds one array.
//!
//! An archive is a ZIP file of `.npy` files, stored or deflated. Its directory at the end says where they are; the headers before each
//! of them are not trusted for sizes, because NumPy leaves them open.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;

use super::error::SampleError;
use super::file::FileReader;

/// What every ZIP file with contents starts with.
const START: &[u8] = b"PK\x03\x04";
/// What the end of a ZIP file's directory, and each entry in it, starts with.
const END: &[u8] = b"PK\x05\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
/// Lengths of the fixed parts of these.
const END_LENGTH: usize = 22;
const ENTRY_LENGTH: usize = 46;
const LOCAL_LENGTH: usize = 30;
/// A comment may follow the end of the directory.
const LONGEST_COMMENT: usize = 65_535;

/// Opens a file, or an array of an archive.
pub(super) fn open(path: &Path) -> Result<FileReader, SampleError> {
    let (archive, member) = match split(path) {
        Some((archive, member)) => (archive, Some(member)),
        None => (path.to_owned(), None),
    };
    let file = FileReader::open(&archive)?;
    if !file.starts_with(START) {
        return match member {
            Some(_) => Err(file.not("an .npz archive")),
            None => Ok(file),
        };
    }
    drop(file);
    let bytes = fs::read(&archive).map_err(|error| SampleError::io(&archive, error))?;
    let members = directory(&bytes).ok_or_else(|| {
        SampleError::damaged(&archive, "not a readable .npz archive: its directory is damaged")
    })?;
    let found = match (&member, &members[..]) {
        (None, [only]) => Some(only),
        (Some(name), members) => members.iter().find(|entry| entry.array() == name),
        (None, _) => None,
    };
    let Some(found) = found else {
        let names: Vec<&str> = members.iter().map(Member::array).collect();
        let names = names.join(", ");
        let example = members.first().map_or("x", Member::array);
        let problem =
            format!("holds the arrays {names}: name one, {}:{example}", archive.display());
        return Err(SampleError::no_data(&archive, problem));
    };
    let array = found.unpack(&bytes).ok_or_else(|| {
        let problem = format!("not a readable .npz archive: {} is damaged", found.name);
        SampleError::damaged(&archive, problem)
    })?;
    FileReader::of_bytes(path, array)
}

/// The archive and the array in `arrays.npz:x_test`, unless there is a file of that name.
fn split(path: &Path) -> Option<(PathBuf, String)> {
    let text = path.to_str().filter(|_| !path.exists())?;
    let (archive, member) = text.rsplit_once(':')?;
    archive.to_ascii_lowercase().ends_with(".npz").then(|| (archive.into(), member.into()))
}

/// One file of an archive.
struct Member {
    name: String,
    deflated: bool,
    packed: usize,
    unpacked: usize,
    /// Where its own header is.
    header: usize,
}

impl Member {
    /// The array's name: the file's without its ending.
    fn array(&self) -> &str {
        self.name.strip_suffix(".npy").unwrap_or(&self.name)
    }

    /// Its contents; `None` where they are not what the directory says.
    fn unpack(&self, archive: &[u8]) -> Option<Vec<u8>> {
        let header = archive.get(self.header..)?;
        let begin =
            LOCAL_LENGTH + usize::from(u16_at(header, 26)?) + usize::from(u16_at(header, 28)?);
        let stored = header.get(begin..begin.checked_add(self.packed)?)?;
        let mut bytes = Vec::new();
        if self.deflated {
            let most = self.unpacked as u64 + 1;
            DeflateDecoder::new(stored).take(most).read_to_end(&mut bytes).ok()?;
        } else {
            bytes.extend_from_slice(stored);
        }
        (bytes.len() == self.unpacked).then_some(bytes)
    }
}

/// The files of an archive; `None` where it has no directory that can be read.
fn directory(archive: &[u8]) -> Option<Vec<Member>> {
    let first = archive.len().saturating_sub(END_LENGTH + LONGEST_COMMENT);
    let ends = (first..=archive.len().checked_sub(END_LENGTH)?).rev();
    let end = ends.map(|at| &archive[at..]).find(|rest| rest.starts_with(END))?;
    let (count, mut at) = (u16_at(end, 10)?, u32_at(end, 16)?);
    let mut members = Vec::new();
    for _ in 0..count {
        let entry = archive.get(at..).filter(|rest| rest.starts_with(ENTRY))?;
        let [name, extra, comment] = [28, 30, 32].map(|at| u16_at(entry, at).map(usize::from));
        let (name, length) = (entry.get(ENTRY_LENGTH..ENTRY_LENGTH + name?)?, name?);
        let deflated = match u16_at(entry, 10)? {
            0 => false,
            8 => true,
            _ => return None,
        };
        members.push(Member {
            name: String::from_utf8_lossy(name).into_owned(),
            deflated,
            packed: u32_at(entry, 20)?,
            unpacked: u32_at(entry, 24)?,
            header: u32_at(entry, 42)?,
        });
        at += ENTRY_LENGTH + length + extra? + comment?;
    }
    Some(members)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// A number that is not the mark of an archive beyond 4 GiB.
fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let number = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
    (number != u32::MAX).then_some(number as usize)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use proptest::prelude::*;

    use super::super::file::scratch::{folder, write};
    use super::super::npy;
    use super::*;

    /// An archive as NumPy writes it: sizes in the headers before the files are open.
    fn archive(arrays: &[(&str, Vec<u8>)], deflated: bool) -> Vec<u8> {
        let (mut file, mut directory) = (Vec::new(), Vec::new());
        for (name, contents) in arrays {
            let name = format!("{name}.npy");
            let mut packed = contents.clone();
            if deflated {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(contents).unwrap();
                packed = encoder.finish().unwrap();
            }
            let header = file.len() as u32;
            let method = if deflated { 8u16 } else { 0 };
            file.extend(START);
            file.extend([45, 0, 0, 0]);
            file.extend(method.to_le_bytes());
            file.extend([0; 8]);
            file.extend([0xff; 8]);
            file.extend((name.len() as u16).to_le_bytes());
            file.extend(20u16.to_le_bytes());
            file.extend(name.as_bytes());
            file.extend([0; 20]);
            file.extend(&packed);
            directory.extend(ENTRY);
            directory.extend([45, 0, 45, 0, 0, 0]);
            directory.extend(method.to_le_bytes());
            directory.extend([0; 8]);
            directory.extend((packed.len() as u32).to_le_bytes());
            directory.extend((contents.len() as u32).to_le_bytes());
            directory.extend((name.len() as u16).to_le_bytes());
            directory.extend([0; 12]);
            directory.extend(header.to_le_bytes());
            directory.extend(name.as_bytes());
        }
        let (at, length) = (file.len() as u32, directory.len() as u32);
        file.extend(directory);
        file.extend(END);
        file.extend([0; 4]);
        file.extend((arrays.len() as u16).to_le_bytes().repeat(2));
        file.extend(length.to_le_bytes());
        file.extend(at.to_le_bytes());
        file.extend([0; 2]);
        file
    }

    fn read(path: &Path) -> Result<Vec<u8>, String> {
        let array = open(path).and_then(npy::read).map_err(|error| error.to_string())?;
        Ok(array.bytes)
    }

    #[test]
    fn arrays_are_read_by_their_names() {
        let array = |bytes: &[u8]| npy::encode("|u1", &[bytes.len()], bytes);
        let folder = folder();
        for deflated in [false, true] {
            let two = archive(&[("x_test", array(&[1, 2, 3])), ("y", array(&[7]))], deflated);
            let path = write(&folder, "two.npz", two);
            let member = |name: &str| read(Path::new(&format!("{}:{name}", path.display())));
            assert_eq!(member("x_test").unwrap(), [1, 2, 3]);
            assert_eq!(member("y").unwrap(), [7]);
            for error in [member("z").unwrap_err(), read(&path).unwrap_err()] {
                assert!(error.contains("holds the arrays x_test, y: name one, "), "{error}");
            }
            let one = write(&folder, "one.npz", archive(&[("x", array(&[4]))], deflated));
            assert_eq!(read(&one).unwrap(), [4]);
        }
        let plain = write(&folder, "a.npz", array(&[5]));
        assert_eq!(read(&plain).unwrap(), [5]);
        let error = read(Path::new(&format!("{}:x", plain.display()))).unwrap_err();
        assert!(error.contains("not an .npz archive"), "{error}");
    }

    proptest! {
        #[test]
        fn damaged_archives_never_panic(place in 0usize..200, byte: u8, end in 1usize..200, deflated: bool) {
            let folder = folder();
            let mut bytes = archive(&[("x", npy::encode("|u1", &[3], &[1, 2, 3]))], deflated);
            let (place, end) = (place % bytes.len(), bytes.len() - end % bytes.len());
            bytes[place] = byte;
            bytes.truncate(end);
            let path = write(&folder, "a.npz", bytes);
            let _ = read(&path);
        }
    }
}
