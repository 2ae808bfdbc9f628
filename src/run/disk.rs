//! Writing that survives a power loss: what is synced is on the disk, not only in the system's memory.
//!
//! A file is synced before it gets its place, and its directory afterwards. Records, and the adversaries that they name, are synced once a
//! second and at the end: a sync takes milliseconds, and so may a record. What records cannot do without is synced first. What follows from
//! it, as pictures do, is not synced on purpose. The tests below play a disk that drops all that was not synced, at every moment of a run.

use std::fs::{self, File};
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A file that grows is synced at least this often.
const EVERY: Duration = Duration::from_secs(1);
/// More files than this are not synced one after the other, where the system can sync all that is waiting at once.
const FEW: usize = 8;

/// Writes a new file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    write_all(&mut file, path, bytes)?;
    file.sync_all()?;
    journal::note(|| journal::Step::Sync(path.into()));
    Ok(())
}

/// Writes a file that the system syncs when it likes, or [`UnsyncedFiles`] do. If there is a file already, it is replaced through `partial`.
/// So whoever kills the program never loses a whole file, but may leave a new one that is not whole.
pub(crate) fn write_unsynced(
    path: &Path,
    partial: impl FnOnce() -> PathBuf,
    bytes: &[u8],
) -> io::Result<()> {
    match File::create_new(path) {
        Ok(mut file) => write_all(&mut file, path, bytes),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let partial = partial();
            let mut file = File::create(&partial)?;
            write_all(&mut file, &partial, bytes)?;
            fs::rename(&partial, path)?;
            journal::note(|| journal::Step::Rename(partial, path.into()));
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn write_all(file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    journal::note(|| journal::Step::Write(path.into(), bytes.into()));
    Ok(())
}

/// Files of one folder that records name, and that are not synced yet.
#[derive(Debug)]
pub(crate) struct UnsyncedFiles {
    folder: PathBuf,
    names: Mutex<Vec<PathBuf>>,
}

impl UnsyncedFiles {
    /// None yet.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), names: Mutex::default() }
    }

    /// Adds a file that was just written.
    pub fn add(&self, path: PathBuf) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    }

    /// Syncs them and their folder.
    fn sync(&self) -> io::Result<()> {
        let paths = mem::take(&mut *self.names.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(first) = paths.first() else { return Ok(()) };
        let is_synced = paths.len() > FEW && sync_file_system(&self.folder);
        let mut all = Ok(());
        for path in &paths {
            // One that somebody has removed must not keep the others from the disk.
            let synced = is_synced || {
                let synced = File::open(path).and_then(|file| file.sync_all());
                all = all.and(synced);
                all.is_ok()
            };
            if synced {
                journal::note(|| journal::Step::Sync(path.clone()));
            }
        }
        if is_synced {
            journal::note(|| journal::Step::SyncFolder(self.folder.clone()));
            return Ok(());
        }
        sync_folder_of(first)?;
        all
    }
}

/// Syncs all that waits for the file system of a folder, once for all files: one after the other they would take milliseconds each. Says
/// whether the system did so.
#[cfg(target_os = "linux")]
fn sync_file_system(folder: &Path) -> bool {
    File::open(folder).is_ok_and(|folder| rustix::fs::syncfs(folder).is_ok())
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &Path) -> bool {
    false
}

/// A file that grows, and is on the disk a second later. The end of it syncs what is left.
#[derive(Debug)]
pub(crate) struct GrowingFile(Arc<SyncedFile>);

#[derive(Debug)]
struct SyncedFile {
    path: PathBuf,
    file: File,
    /// What its lines name.
    named: Option<Arc<UnsyncedFiles>>,
    /// Held while the file is synced.
    syncing: Mutex<()>,
    /// Whether there is something to sync.
    is_dirty: AtomicBool,
    /// Whether a thread waits to do so.
    is_awaited: AtomicBool,
}

impl GrowingFile {
    /// The files that its lines name are synced before it.
    pub fn new(path: &Path, file: File, named: Option<Arc<UnsyncedFiles>>) -> Self {
        Self(Arc::new(SyncedFile {
            path: path.to_owned(),
            file,
            named,
            syncing: Mutex::new(()),
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
        self.sync_later();
        Ok(())
    }

    /// Syncs now.
    #[cfg(test)]
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    /// Syncs a second later, unless that is under way.
    fn sync_later(&self) {
        if self.0.is_awaited.swap(true, Ordering::AcqRel) {
            return;
        }
        let file = Arc::clone(&self.0);
        thread::spawn(move || {
            thread::sleep(EVERY);
            file.is_awaited.store(false, Ordering::Release);
            file.sync_or_warn();
        });
    }
}

impl Drop for GrowingFile {
    fn drop(&mut self) {
        self.0.sync_or_warn();
    }
}

impl SyncedFile {
    fn sync(&self) -> io::Result<()> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_dirty.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        // Files of later lines may be among them, too. Those of the lines that are there are among them: each was added before its line.
        let named = self.named.as_ref().map_or(Ok(()), |files| files.sync());
        // Pipes and the like cannot be synced, and need not be.
        if self.file.metadata()?.is_file() {
            self.file.sync_data()?;
        }
        journal::note(|| journal::Step::Sync(self.path.clone()));
        named
    }

    fn sync_or_warn(&self) {
        if let Err(error) = self.sync() {
            log::warn!("{}: cannot be synced: {error}", self.path.display());
        }
    }
}

/// Gives a file its place, and syncs the directory.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    journal::note(|| journal::Step::Rename(from.into(), to.into()));
    sync_folder_of(to)
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

    /// Records of a run.
    const COUNT: usize = 3 + FEW + 2;

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
        let manifest = Manifest::new(Contents::Attacks, &(), [(0, (1..=COUNT).collect())]);
        manifest.claim(directory).unwrap();
        let files = Arc::new(UnsyncedFiles::new(directory));
        let path = directory.join("results.jsonl");
        let mut records = JsonLines::open_naming(&path, Some(Arc::clone(&files))).unwrap();
        for target in 1..=COUNT {
            let [path, partial] =
                ["npy", "partial"].map(|end| directory.join(format!("{target}.{end}")));
            write_unsynced(&path, || partial, &[7; 100]).unwrap();
            files.add(path);
            records.append(&record(0, target, "robust", "")).unwrap();
            // As after a second: few files, and later more of them than are synced one after the other.
            if [1, 3].contains(&target) {
                records.sync().unwrap();
            }
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
            assert!(lost_after < steps.len() || found == COUNT, "all in the end");
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
