//! Writing that survives a power loss: what is synced is on the disk, not only in the system's memory.
//!
//! A file is synced before it gets its place, and its directory afterwards. Files that grow are synced once a second, and at the end:
//! a sync takes milliseconds, and so may a record. What a record cannot do without is synced before the record is
//! appended; what follows from it, as pictures do, is not synced. The test below plays a disk that drops all that was not synced, at every moment of a run.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::budget::Budget;

/// A file that grows is synced at least this often.
const EVERY: Duration = Duration::from_secs(1);

/// Writes a new file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = write_file(path, bytes)?;
    file.sync_all()?;
    journal::note(|| journal::Step::Sync(path.into()));
    Ok(())
}

/// Writes a new file that the system syncs when it likes: it can be made again from files that are synced.
pub(crate) fn write_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_file(path, bytes).map(drop)
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    journal::note(|| journal::Step::Write(path.into(), bytes.into()));
    Ok(file)
}

/// A file that grows, and is on the disk a second later. The end of it syncs what is left.
#[derive(Debug)]
pub(crate) struct GrowingFile(Arc<SyncedFile>);

#[derive(Debug)]
struct SyncedFile {
    path: PathBuf,
    file: File,
    /// Since the last sync; `None` before the first.
    clock: Mutex<Option<Budget<'static>>>,
    /// Whether there is something to sync.
    is_dirty: AtomicBool,
    /// Whether a thread waits to do so.
    is_awaited: AtomicBool,
}

impl GrowingFile {
    pub fn new(path: &Path, file: File) -> Self {
        Self(Arc::new(SyncedFile {
            path: path.to_owned(),
            file,
            clock: Mutex::new(None),
            is_dirty: AtomicBool::new(false),
            is_awaited: AtomicBool::new(false),
        }))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Appends, with a single write.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&self.0.file).write_all(bytes)?;
        journal::note(|| journal::Step::Write(self.0.path.clone(), bytes.into()));
        self.0.is_dirty.store(true, Ordering::Release);
        let since = {
            let clock = self.0.clock.lock().unwrap_or_else(PoisonError::into_inner);
            clock.map(|clock| clock.elapsed())
        };
        match since {
            Some(since) if since < EVERY => self.sync_after(EVERY - since),
            _ => return self.0.sync(),
        }
        Ok(())
    }

    /// Syncs a little later, unless that is under way.
    fn sync_after(&self, wait: Duration) {
        if self.0.is_awaited.swap(true, Ordering::AcqRel) {
            return;
        }
        let file = Arc::clone(&self.0);
        thread::spawn(move || {
            thread::sleep(wait);
            file.is_awaited.store(false, Ordering::Release);
            if let Err(error) = file.sync() {
                log::warn!("{}: cannot be synced: {error}", file.path.display());
            }
        });
    }
}

impl Drop for GrowingFile {
    fn drop(&mut self) {
        if let Err(error) = self.0.sync() {
            log::warn!("{}: cannot be synced: {error}", self.0.path.display());
        }
    }
}

impl SyncedFile {
    fn sync(&self) -> io::Result<()> {
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_dirty.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        // Pipes and the like cannot be synced, and need not be.
        if self.file.metadata()?.is_file() {
            self.file.sync_data()?;
        }
        journal::note(|| journal::Step::Sync(self.path.clone()));
        *clock = Some(Budget::unlimited());
        Ok(())
    }
}

/// Gives a file its place.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    rename_all(&[(from, to)])
}

/// Gives files of one directory their places, which is then synced once.
pub(crate) fn rename_all(files: &[(&Path, &Path)]) -> io::Result<()> {
    for (from, to) in files {
        fs::rename(from, to)?;
        journal::note(|| journal::Step::Rename(from.into(), to.into()));
    }
    files.last().map_or(Ok(()), |(_, to)| sync_folder_of(to))
}

/// Makes the name of a file last that was just made.
pub(crate) fn created(path: &Path) -> io::Result<()> {
    journal::note(|| journal::Step::Write(path.into(), Vec::new()));
    sync_folder_of(path)
}

/// Makes a new name of a file last.
pub(crate) fn sync_link(from: &Path, to: &Path) -> io::Result<()> {
    journal::note(|| journal::Step::Rename(from.into(), to.into()));
    sync_folder_of(to)
}

/// Makes the names of a file's directory last.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Not every file system syncs directories, not every directory may be read, and elsewhere than on Unix they cannot be opened.
    if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
        log::debug!("{}: cannot be synced: {error}", folder.display());
    }
    journal::note(|| journal::Step::SyncFolder(folder.into()));
    Ok(())
}

/// What was done, for the test: nothing is noted otherwise.
mod journal {
    use std::path::PathBuf;

    #[derive(Clone, Debug)]
    #[cfg_attr(not(test), allow(dead_code, reason = "looked at by the test alone"))]
    pub enum Step {
        Write(PathBuf, Vec<u8>),
        Sync(PathBuf),
        Rename(PathBuf, PathBuf),
        SyncFolder(PathBuf),
    }

    #[cfg(test)]
    thread_local! {
        pub static STEPS: std::cell::RefCell<Option<Vec<Step>>> = const { std::cell::RefCell::new(None) };
    }

    #[cfg(test)]
    pub fn note(step: impl FnOnce() -> Step) {
        STEPS.with_borrow_mut(|steps| {
            if let Some(steps) = steps {
                steps.push(step());
            }
        });
    }

    #[cfg(not(test))]
    pub fn note(_: impl FnOnce() -> Step) {}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::journal::{STEPS, Step};
    use super::*;
    use crate::record::{AttackRecord, Contents, json, record};
    use crate::run::json_lines::{JsonLines, lines};
    use crate::run::manifest::Manifest;
    use crate::run::whole_file::replace;

    /// A disk that keeps only what was synced: contents by file, names by directory.
    #[derive(Default)]
    struct ForgetfulDisk {
        /// By the name in memory: what was written, and how much of it is on the disk.
        files: BTreeMap<PathBuf, (Vec<u8>, usize)>,
        /// The names that are on the disk, and the length of what they name there.
        names: BTreeMap<PathBuf, Vec<u8>>,
    }

    impl ForgetfulDisk {
        fn take(&mut self, step: &Step) {
            match step {
                Step::Write(path, bytes) => {
                    self.files.entry(path.clone()).or_default().0.extend(bytes);
                }
                Step::Sync(path) => {
                    let file = self.files.get_mut(path).unwrap();
                    file.1 = file.0.len();
                    if let Some(stored) = self.names.get_mut(path) {
                        stored.clone_from(&file.0);
                    }
                }
                Step::Rename(from, to) => {
                    let file = self.files.remove(from).unwrap();
                    self.files.insert(to.clone(), file);
                }
                Step::SyncFolder(folder) => {
                    self.names.retain(|path, _| path.parent() != Some(folder));
                    let inside = self.files.iter().filter(|f| f.0.parent() == Some(folder));
                    for (path, (bytes, synced)) in inside {
                        self.names.insert(path.clone(), bytes[..*synced].to_vec());
                    }
                }
            }
        }
    }

    /// What a run does for each record.
    fn run(directory: &Path) -> Vec<Step> {
        STEPS.set(Some(Vec::new()));
        let manifest = Manifest::new(Contents::Attacks, &(), [(0, vec![1, 2, 3])]);
        manifest.claim(directory).unwrap();
        let mut records = JsonLines::open(&directory.join("results.jsonl")).unwrap();
        for target in 1..=3 {
            replace(&directory.join(format!("{target}.npy")), &[7; 100]).unwrap();
            records.append(&record(0, target, "robust", "")).unwrap();
        }
        drop(records);
        STEPS.take().unwrap()
    }

    #[test]
    fn after_a_power_loss_every_record_that_was_synced_is_there_with_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let steps = run(directory.path());
        let name = |name: &str| directory.path().join(name);
        let is_record = |step: &&Step| matches!(step, Step::Write(path, bytes) if *path == name("results.jsonl") && !bytes.is_empty());
        let is_sync =
            |step: &Step| matches!(step, Step::Sync(path) if *path == name("results.jsonl"));
        for lost_after in 0..=steps.len() {
            let mut disk = ForgetfulDisk::default();
            steps[..lost_after].iter().for_each(|step| disk.take(step));
            let synced = steps[..lost_after].iter().rposition(is_sync).unwrap_or(0);
            let promised = steps[..synced].iter().filter(is_record).count();
            let results = disk.names.get(&name("results.jsonl"));
            let found = results.map_or(0, |text| {
                lines::<AttackRecord>(text).filter(|line| line.parsed.is_ok()).count()
            });
            assert!(found >= promised, "{found} of {promised} after {lost_after} steps");
            for target in 1..=found {
                let file = disk.names.get(&name(&format!("{target}.npy")));
                assert_eq!(file.map(Vec::len), Some(100), "after {lost_after} steps");
            }
            // Records without a manifest could not be continued.
            let manifest = disk.names.get(&name("manifest.json"));
            assert!(found == 0 || manifest.is_some_and(|m| json::parse::<Manifest>(m).is_ok()));
            assert!(lost_after < steps.len() || found == 3, "all in the end");
        }
    }

    #[test]
    fn the_forgetful_disk_forgets() {
        let file = PathBuf::from("/d/f");
        let mut disk = ForgetfulDisk::default();
        disk.take(&Step::Write(file.clone(), vec![1, 2]));
        disk.take(&Step::SyncFolder("/d".into()));
        assert_eq!(disk.names[&file], Vec::<u8>::new());
        disk.take(&Step::Sync(file.clone()));
        assert_eq!(disk.names[&file], [1, 2]);
        disk.take(&Step::Write(file.clone(), vec![3]));
        assert_eq!(disk.names[&file], [1, 2]);
    }
}
