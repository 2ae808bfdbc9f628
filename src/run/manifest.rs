//! What a result directory is for: `manifest.json`, there before the first record, so that a run can be continued, by itself
//! or by others, and only with the settings it was begun with.
//!
//! The manifest lists all the work, so that what is missing can be told from the directory alone, without model and data. It
//! is never replaced, which makes it the file to lock.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::results::StoreError;
use super::shard::Shard;
use crate::data::Sample;
use crate::network::Label;
use crate::record::json::{self, Fields};
use crate::record::{Contents, Key};

/// The version of the manifest's format.
const MANIFEST_SCHEMA: &str = "rw-adv/manifest/1";
/// The file's name in the result directory.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Settings that are names of things: their contents have checksums.
const NAMES: [&str; 3] = ["model", "data", "widths"];

/// What a result directory is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    schema: String,
    version: String,
    contents: Contents,
    settings: Fields,
    /// Images in the order asked for, each with its targets.
    items: Vec<(usize, Vec<usize>)>,
}

impl Manifest {
    /// The manifest of a run with these settings and this work: images, each with its targets.
    pub fn new<'a>(
        contents: Contents,
        settings: &impl Serialize,
        items: impl Iterator<Item = (usize, &'a [Label])>,
    ) -> Self {
        let labels = |targets: &[Label]| targets.iter().map(|target| target.0).collect();
        Self {
            schema: MANIFEST_SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            contents,
            settings: json::fields(settings),
            items: items.map(|(image, targets)| (image, labels(targets))).collect(),
        }
    }

    /// The manifest of a result directory; `None` where there is none.
    ///
    /// # Errors
    /// When it cannot be read, or is something else.
    pub fn read(directory: &Path) -> Result<Option<Self>, StoreError> {
        let path = directory.join(MANIFEST);
        let parsed = match fs::read(&path) {
            Ok(text) => json::parse(&text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        parsed.map_err(|source| StoreError::Unreadable { path, source })
    }

    /// The manifest of a directory that must have one.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn of(directory: &Path) -> Result<Self, StoreError> {
        Self::read(directory)?.ok_or_else(|| StoreError::NoManifest(directory.to_owned()))
    }

    /// What the directory holds.
    pub fn contents(&self) -> Contents {
        self.contents
    }

    /// What was asked for.
    pub fn settings(&self) -> &Fields {
        &self.settings
    }

    /// The work of one shard, or all of it, in the order of the images.
    pub fn keys(&self, shard: Option<Shard>) -> impl Iterator<Item = Key> {
        let mine = move |place: usize| shard.is_none_or(|shard| shard.holds(place));
        let items = self.items.iter().enumerate().filter(move |&(place, _)| mine(place));
        items.flat_map(move |(_, &(image, ref targets))| {
            let keys: Vec<Key> = match self.contents {
                Contents::Radii => vec![Key { image, target: None }],
                _ => targets.iter().map(|&target| Key { image, target: Some(target) }).collect(),
            };
            keys
        })
    }

    /// How many images were left out because there was nothing to do.
    pub fn skipped(&self) -> usize {
        json::length(&self.settings, "images").saturating_sub(self.items.len())
    }

    /// Puts the manifest into the directory, whole and only if there is none yet. Says whether it was put there; what is
    /// there already asks for the same.
    ///
    /// # Errors
    /// When the one that is there differs, or this one cannot be written.
    pub(crate) fn claim(&self, directory: &Path) -> Result<bool, StoreError> {
        if let Some(theirs) = Self::read(directory)? {
            return self.compare(&theirs, directory).map(|()| false);
        }
        let path = directory.join(MANIFEST);
        let partial = directory.join(format!("{MANIFEST}.{}.partial", unique()));
        let mut text = Vec::new();
        let written = json::line(&mut text, self).and_then(|()| fs::write(&partial, text));
        // Unlike a rename, a link fails when somebody else was faster.
        let placed = written.and_then(|()| match fs::hard_link(&partial, &path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => fs::rename(&partial, &path),
            linked => linked,
        });
        // Where there is nothing to remove, nothing is left to do.
        let _ = fs::remove_file(&partial);
        match placed {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                self.compare(&Self::of(directory)?, directory).map(|()| false)
            }
            Err(source) => Err(StoreError::Unwritable { path, source }),
        }
    }

    /// Whether another manifest asks for the same.
    pub(crate) fn compare(&self, theirs: &Self, directory: &Path) -> Result<(), StoreError> {
        let path = directory.to_owned();
        let difference = self.difference(theirs);
        difference.map_or(Ok(()), |difference| Err(StoreError::Differs { path, difference }))
    }

    /// What differs, in words; the causes before their consequences.
    fn difference(&self, theirs: &Self) -> Option<String> {
        let told = |what: &str, there: &str, here: &str| {
            (there != here).then(|| format!("{what} {there} there, {here} asked"))
        };
        let setting = |key: &str, what: &str| {
            let [there, here] = [theirs, self].map(|manifest| manifest.settings.get(key));
            (there != here).then(|| {
                let [there, here] = [there, here].map(json::brief);
                format!("{what} {there} there, {here} asked")
            })
        };
        let checksums = ["model_sha256", "data_sha256"];
        let keys: BTreeSet<&String> = self.settings.keys().chain(theirs.settings.keys()).collect();
        let mut options = keys.into_iter().filter(|key| {
            let key = key.as_str();
            !NAMES.contains(&key) && !checksums.contains(&key)
        });
        told("format", &theirs.schema, &self.schema)
            .or_else(|| told("version", &theirs.version, &self.version))
            .or_else(|| told("records of", theirs.contents.name(), self.contents.name()))
            .or_else(|| setting("model_sha256", "another model: SHA-256"))
            .or_else(|| {
                options.find_map(|key| setting(key, &format!("--{}", key.replace('_', "-"))))
            })
            .or_else(|| setting("data_sha256", "other images or labels: SHA-256"))
            .or_else(|| (self.items != theirs.items).then(|| "other targets".into()))
    }
}

/// Holds on to a directory for as long as it lives: one writer of the results at a time. The system lets go when the
/// process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code)] Option<File>);

impl Lock {
    /// Locks a directory that has a manifest.
    ///
    /// # Errors
    /// When another process has.
    pub(crate) fn of(directory: &Path) -> Result<Self, StoreError> {
        let file = File::options().append(true).open(directory.join(MANIFEST)).ok();
        match file.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => Err(StoreError::Busy(directory.to_owned())),
            // Not every file system knows locks, and a run without is better than none.
            Some(Err(TryLockError::Error(_))) | None => Ok(Self(None)),
            Some(Ok(())) => Ok(Self(file)),
        }
    }
}

/// A name that nobody else has: sixteen digits of the system's randomness.
pub(crate) fn unique() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// SHA-256 of images as they are looked at: indices, labels and pixels, whatever files they came from.
pub fn data_sha256<'a>(samples: impl Iterator<Item = &'a Sample>) -> String {
    let mut hash = Sha256::new();
    for sample in samples {
        let label = sample.label.map_or(u64::MAX, |label| label.0 as u64);
        for number in [sample.index as u64, label, sample.pixels.len() as u64] {
            hash.update(number.to_le_bytes());
        }
        sample.pixels.iter().for_each(|pixel| hash.update(pixel.to_le_bytes()));
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Clone, Serialize)]
    struct Settings {
        model: &'static str,
        model_sha256: &'static str,
        data_sha256: &'static str,
        delta: f64,
        time_limit: Option<f64>,
        images: Vec<usize>,
    }

    fn settings() -> Settings {
        Settings {
            model: "a.onnx",
            model_sha256: "ab",
            data_sha256: "cd",
            delta: 0.1,
            time_limit: None,
            images: vec![4, 7],
        }
    }

    fn manifest(settings: &Settings) -> Manifest {
        let targets = [Label(3)];
        Manifest::new(Contents::Attacks, settings, [(4, &targets[..])].into_iter())
    }

    #[test]
    fn the_first_claim_stands_and_the_same_may_follow() {
        let directory = tempfile::tempdir().unwrap();
        let first = manifest(&settings());
        assert!(first.claim(directory.path()).unwrap());
        assert!(!first.claim(directory.path()).unwrap());
        assert_eq!(Manifest::of(directory.path()).unwrap(), first);
        let names: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        // The same model under another name.
        let renamed = Settings { model: "b.onnx", ..settings() };
        assert!(!manifest(&renamed).claim(directory.path()).unwrap());
        assert_eq!(first.skipped(), 1);
    }

    #[test]
    fn what_differs_is_told() {
        let directory = tempfile::tempdir().unwrap();
        manifest(&settings()).claim(directory.path()).unwrap();
        for (other, said) in [
            (Settings { model_sha256: "ef", ..settings() }, "another model: SHA-256 ab there, ef"),
            (Settings { data_sha256: "ef", ..settings() }, "other images or labels: SHA-256 cd"),
            (Settings { delta: 0.2, ..settings() }, "--delta 0.1 there, 0.2 asked"),
            (Settings { time_limit: Some(1.5), ..settings() }, "--time-limit none there, 1.5"),
            (
                Settings { images: (0..1000).collect(), data_sha256: "x", ..settings() },
                "--images [4,7] there, [0,1,2",
            ),
        ] {
            let error = manifest(&other).claim(directory.path()).unwrap_err().to_string();
            assert!(error.contains(said) && error.len() < 300, "{error}");
        }
        let targets = [Label(5)];
        let other = Manifest::new(Contents::Attacks, &settings(), [(4, &targets[..])].into_iter());
        let error = other.claim(directory.path()).unwrap_err().to_string();
        assert!(error.contains("other targets"), "{error}");
        let radii = Manifest::new(Contents::Radii, &settings(), [(4, &targets[..])].into_iter());
        let error = radii.claim(directory.path()).unwrap_err().to_string();
        assert!(error.contains("records of attacks there, radii asked"), "{error}");
    }

    #[test]
    fn a_manifest_that_is_none_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let missing = Manifest::of(directory.path()).unwrap_err().to_string();
        assert!(missing.contains("manifest.json"), "{missing}");
        for text in ["", "{\"schema\":\"rw-a", "[]", "{\"schema\":\"other\"}"] {
            fs::write(directory.path().join(MANIFEST), text).unwrap();
            let error = Manifest::read(directory.path()).unwrap_err().to_string();
            assert!(error.contains("manifest.json: "), "{error}");
            assert!(manifest(&settings()).claim(directory.path()).is_err());
        }
    }

    #[test]
    fn one_writer_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        manifest(&settings()).claim(directory.path()).unwrap();
        let first = Lock::of(directory.path()).unwrap();
        assert!(matches!(Lock::of(directory.path()), Err(StoreError::Busy(_))));
        drop(first);
        Lock::of(directory.path()).unwrap();
    }

    #[test]
    fn shards_share_the_work() {
        let (few, many) = ([Label(1)], [Label(2), Label(5)]);
        let items = [(4, &few[..]), (7, &many[..]), (9, &few[..])];
        let manifest = Manifest::new(Contents::Attacks, &settings(), items.into_iter());
        let of = |index| manifest.keys(Shard::new(index, 2)).collect::<Vec<_>>();
        let key = |image, target| Key { image, target: Some(target) };
        assert_eq!(of(1), [key(4, 1), key(9, 1)]);
        assert_eq!(of(2), [key(7, 2), key(7, 5)]);
        assert_eq!(manifest.keys(None).count(), 4);
    }
}
