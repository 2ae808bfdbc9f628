//! What a result directory is for: `manifest.json`, there before the first record, so that a run can be continued, by itself
//! or by others, and only with the settings it was begun with.
//!
//! The manifest lists all the work, so that what is missing can be told from the directory alone, without model and data. It
//! is never replaced, which makes it the file to lock.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::disk;
use super::error::StoreError;
use super::shard::Shard;
use super::whole_file::{PARTIAL, unique};
use crate::budget::utc_now;
use crate::record::json::{self, Fields};
use crate::record::{Contents, Key, RunOrigin};

/// The version of the manifest's format.
const MANIFEST_SCHEMA: &str = "rw-adv/manifest/1";
/// The file's name in the result directory.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Settings that are names of things: their contents have checksums.
const NAMES: [&str; 5] = ["model", "data", "widths", "constraints", "instances"];
/// Checksums, and what it means that they differ. Those of the data follow from options.
const MODEL: (&str, &str) = ("model_sha256", "another model: SHA-256");
const CONTENTS: [(&str, &str); 3] = [
    ("data_sha256", "other images or labels: SHA-256"),
    ("constraints_sha256", "other constraints: SHA-256"),
    ("instances_sha256", "other networks, properties or timeouts: SHA-256"),
];

/// What a result directory is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    schema: String,
    version: String,
    contents: Contents,
    settings: Fields,
    /// Images in the order asked for, each with its targets.
    items: Vec<(usize, Vec<usize>)>,
    /// How the run was begun; it may be continued in another way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<RunOrigin>,
}

impl Manifest {
    /// The manifest of a run with these settings and this work: images, each with its targets.
    pub fn new(
        contents: Contents,
        settings: &impl Serialize,
        items: impl IntoIterator<Item = (usize, Vec<usize>)>,
    ) -> Self {
        Self {
            schema: MANIFEST_SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            contents,
            settings: json::fields(settings),
            items: items.into_iter().collect(),
            origin: None,
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

    /// What classes are called; none, if they have no names.
    pub fn class_names(&self) -> Vec<String> {
        json::texts(&self.settings, "class_names")
    }

    /// How the run was begun, if it has begun.
    pub fn origin(&self) -> Option<&RunOrigin> {
        self.origin.as_ref()
    }

    /// The work of one shard, or all of it, in the order of the images.
    pub fn keys(&self, shard: Option<Shard>) -> impl Iterator<Item = Key> {
        let mine = move |place: usize| shard.is_none_or(|shard| shard.holds(place));
        let items = self.items.iter().enumerate().filter(move |&(place, _)| mine(place));
        items.flat_map(move |(_, &(image, ref targets))| keys_of(self.contents, image, targets))
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
        let partial = directory.join(format!("{MANIFEST}.{}.{PARTIAL}", unique()));
        let mut text = Vec::new();
        let origin = RunOrigin { command: command_line(), begun: utc_now() };
        let begun = Self { origin: Some(origin), ..self.clone() };
        let written = json::line(&mut text, &begun).and_then(|()| disk::write(&partial, &text));
        // Unlike a rename, a link fails when another process was faster.
        let placed = written.and_then(|()| match fs::hard_link(&partial, &path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => disk::rename(&partial, &path),
            linked => linked.and_then(|()| disk::sync_link(&partial, &path)),
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
        let is_checksum =
            |key: &str| key == MODEL.0 || CONTENTS.iter().any(|(name, _)| key == *name);
        let keys: BTreeSet<&String> = self.settings.keys().chain(theirs.settings.keys()).collect();
        let mut options = keys.into_iter().filter(|key| {
            let key = key.as_str();
            !NAMES.contains(&key) && !is_checksum(key)
        });
        told("format", &theirs.schema, &self.schema)
            .or_else(|| told("version", &theirs.version, &self.version))
            .or_else(|| told("records of", theirs.contents.name(), self.contents.name()))
            .or_else(|| setting(MODEL.0, MODEL.1))
            .or_else(|| {
                options.find_map(|key| setting(key, &format!("--{}", key.replace('_', "-"))))
            })
            .or_else(|| CONTENTS.iter().find_map(|(key, what)| setting(key, what)))
            .or_else(|| (self.items != theirs.items).then(|| "other targets".into()))
    }
}

/// What was typed, as a shell takes it.
fn command_line() -> String {
    let quoted = |argument: std::ffi::OsString| {
        let text = argument.to_string_lossy().into_owned();
        let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:+%@".contains(c);
        let plain = !text.is_empty() && text.chars().all(is_plain);
        if plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
    };
    env::args_os().map(quoted).collect::<Vec<_>>().join(" ")
}

/// The records that an item of the work has.
pub(crate) fn keys_of(contents: Contents, image: usize, targets: &[usize]) -> Vec<Key> {
    if contents.is_by_target() {
        targets.iter().map(|&target| Key { image, target: Some(target) }).collect()
    } else {
        vec![Key { image, target: None }]
    }
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
        Manifest::new(Contents::Attacks, settings, [(4, vec![3])])
    }

    #[test]
    fn the_first_claim_stands_and_the_same_may_follow() {
        let directory = tempfile::tempdir().unwrap();
        let first = manifest(&settings());
        assert!(first.claim(directory.path()).unwrap());
        assert!(!first.claim(directory.path()).unwrap());
        let stored = Manifest::of(directory.path()).unwrap();
        assert!(stored.origin().is_some_and(|origin| origin.begun.ends_with(" UTC")));
        assert_eq!(Manifest { origin: None, ..stored }, first);
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
        let other = Manifest::new(Contents::Attacks, &settings(), [(4, vec![5])]);
        let error = other.claim(directory.path()).unwrap_err().to_string();
        assert!(error.contains("other targets"), "{error}");
        let radii = Manifest::new(Contents::Radii, &settings(), [(4, vec![5])]);
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
    fn shards_share_the_work() {
        let items = [(4, vec![1]), (7, vec![2, 5]), (9, vec![1])];
        let manifest = Manifest::new(Contents::Attacks, &settings(), items);
        let of = |index| manifest.keys(Shard::new(index, 2)).collect::<Vec<_>>();
        let key = |image, target| Key { image, target: Some(target) };
        assert_eq!(of(1), [key(4, 1), key(9, 1)]);
        assert_eq!(of(2), [key(7, 2), key(7, 5)]);
        assert_eq!(manifest.keys(None).count(), 4);
    }
}
