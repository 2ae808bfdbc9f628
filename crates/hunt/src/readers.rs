//! Damaged files of every kind that rw-adv reads: no panic, no hang.

use std::fs;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::bounds::Arithmetic;
use rw_adv::data::{DataSource, Dataset};
use rw_adv::onnx::OnnxModel;
use rw_adv::proof::{self, ProofFile};
use rw_adv::record::AttackRecord;
use rw_adv::record::json;
use rw_adv::run::{Manifest, lines};
use rw_adv::vnnlib::VnnlibQuery;

use crate::config;
use crate::mutate::mutate;
use crate::network::HuntedNetwork;

/// More time of a processor than this is a hang. On a busy machine anything may take long by the clock.
pub const HANG: Duration = Duration::from_secs(1);

/// The time that this thread was on a processor; by the clock where the system does not tell.
fn processor_time(begun: Instant) -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| begun.elapsed(), Duration::from_nanos)
}

/// A reader of rw-adv.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Models.
    Onnx,
    /// Images of MNIST.
    Idx,
    /// Arrays of NumPy.
    Npy,
    /// Pictures.
    Png,
    /// Files of options.
    Toml,
    /// `results.jsonl`.
    Results,
    /// `manifest.json`.
    Manifest,
    /// Proofs, and the check of them.
    Proof,
    /// Proofs of properties, and the check of them by `crates/check`.
    PropertyProof,
    /// Properties.
    Vnnlib,
}

impl Reader {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Onnx,
        Self::Idx,
        Self::Npy,
        Self::Png,
        Self::Toml,
        Self::Results,
        Self::Manifest,
        Self::Proof,
        Self::PropertyProof,
        Self::Vnnlib,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Onnx => "onnx",
            Self::Idx => "idx",
            Self::Npy => "npy",
            Self::Png => "png",
            Self::Toml => "toml",
            Self::Results => "results",
            Self::Manifest => "manifest",
            Self::Proof => "proof",
            Self::PropertyProof => "property-proof",
            Self::Vnnlib => "vnnlib",
        }
    }
}

/// A reader with files that it reads, and a place to put damaged ones.
pub struct Target {
    reader: Reader,
    corpus: Vec<Vec<u8>>,
    file: PathBuf,
    /// The model that proofs are about.
    model: Option<OnnxModel>,
    /// The model that proofs of properties are about.
    checked: Option<rw_adv_check::Model>,
}

impl Target {
    /// `project` is the directory of the project, with its models and data; `directory` is for files.
    ///
    /// # Panics
    /// When the project's files are not there.
    pub fn new(reader: Reader, project: &Path, directory: &Path) -> Self {
        let name = match reader {
            Reader::Onnx => "x.onnx",
            Reader::Idx => "x-idx3-ubyte",
            Reader::Npy => "x.npy",
            Reader::Png => "x.png",
            Reader::Toml => "x.toml",
            _ => "x",
        };
        let model = (reader == Reader::Proof).then(|| {
            let path = directory.join("model.onnx");
            fs::write(&path, proven_network().onnx()).expect("written");
            OnnxModel::load(&path).expect("loads")
        });
        let checked = (reader == Reader::PropertyProof).then(|| {
            let path = directory.join("model.onnx");
            fs::write(&path, deeper_network().onnx()).expect("written");
            rw_adv_check::Model::read(&path).expect("the checker reads it")
        });
        let corpus = match &checked {
            Some(model) => vec![property_proof(&model.sha256)],
            None => corpus(reader, project, model.as_ref()),
        };
        assert!(!corpus.is_empty(), "{} has files to damage", reader.name());
        let target = Self { reader, corpus, file: directory.join(name), model, checked };
        let is_proof = [Reader::Proof, Reader::PropertyProof].contains(&reader);
        assert!(!is_proof || target.read(&target.corpus[0]), "a proof holds before it is damaged");
        target
    }

    /// One damaged file. `Ok` says whether it was read as if nothing had happened.
    ///
    /// # Errors
    /// What is wrong: a panic, or a hang.
    pub fn run(&self, seed: u64) -> Result<bool, String> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let pick = |rng: &mut ChaCha8Rng| &self.corpus[rng.random_range(0..self.corpus.len())];
        let mut bytes = pick(&mut rng).clone();
        let other = pick(&mut rng).clone();
        mutate(&mut rng, &mut bytes, &other);
        let begun = Instant::now();
        let before = processor_time(begun);
        let read = panic::catch_unwind(AssertUnwindSafe(|| self.read(&bytes)));
        let took = processor_time(begun).saturating_sub(before);
        match read {
            Err(_) => Err("it panicked".into()),
            Ok(_) if took > HANG => Err(format!("it took {took:?}")),
            Ok(is_read) => Ok(is_read),
        }
    }

    fn store(&self, bytes: &[u8]) {
        let written = fs::File::create(&self.file).and_then(|mut file| file.write_all(bytes));
        written.expect("the directory can be written");
    }

    fn read(&self, bytes: &[u8]) -> bool {
        match self.reader {
            Reader::Onnx => {
                // Not through a file: that is another third of the time.
                OnnxModel::from_bytes(&self.file, bytes).is_ok()
            }
            Reader::Idx | Reader::Npy | Reader::Png => {
                self.store(bytes);
                let source = DataSource { path: self.file.clone(), ..DataSource::default() };
                let dims: &[usize] = if self.reader == Reader::Png { &[1, 8, 8] } else { &[784] };
                let data = Dataset::open(&source, dims);
                data.is_ok_and(|data| data.sample(0).is_ok())
            }
            Reader::Toml => {
                self.store(bytes);
                let typed = ["rw-adv", "--config", self.file.to_str().expect("UTF-8")];
                config::expand(&options(), typed.iter().map(Into::into).collect()).is_ok()
            }
            Reader::Results => lines::<AttackRecord>(bytes).all(|line| line.parsed.is_ok()),
            Reader::Manifest => json::parse::<Manifest>(bytes)
                .is_ok_and(|manifest| manifest.keys(None).take(1000).count() > 0),
            Reader::Proof => self.check_proof(bytes),
            Reader::PropertyProof => self.check_property_proof(bytes),
            Reader::Vnnlib => {
                let text = String::from_utf8_lossy(bytes);
                VnnlibQuery::from_text(&text, "x").is_ok()
            }
        }
    }

    fn check_property_proof(&self, bytes: &[u8]) -> bool {
        let Some(model) = &self.checked else { return false };
        let Ok(proof) = rw_adv_check::parse_property_proof(bytes) else { return false };
        rw_adv_check::check_property(model, &proof, false).is_ok()
    }

    fn check_proof(&self, bytes: &[u8]) -> bool {
        let Some(model) = &self.model else { return false };
        let Ok(file) = json::parse::<ProofFile>(bytes) else { return false };
        let Ok(problem) = file.statement.problem(&model.network) else { return false };
        file.claims.iter().all(|claim| {
            let arithmetic = if claim.f32 { Arithmetic::F32 } else { Arithmetic::Exact };
            let (set, weights) = (&problem.set, problem.weights());
            proof::check(&model.network, set, weights, arithmetic, claim).is_ok()
        })
    }
}

/// Some options, of each kind.
fn options() -> clap::Command {
    use clap::{Arg, ArgAction};
    clap::Command::new("rw-adv")
        .arg(Arg::new("config").long("config"))
        .arg(Arg::new("delta").long("delta"))
        .arg(Arg::new("images").long("images"))
        .arg(Arg::new("branch").long("branch").num_args(0..=1))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue))
        .arg(Arg::new("verbose").short('v').long("verbose").action(ArgAction::Count))
}

/// The network that proofs are about: always the same.
fn proven_network() -> HuntedNetwork {
    HuntedNetwork::draw(&mut ChaCha8Rng::seed_from_u64(4), 3, 2, &[4])
}

/// The network that proofs of properties are about.
fn deeper_network() -> HuntedNetwork {
    HuntedNetwork::draw(&mut ChaCha8Rng::seed_from_u64(4), 3, 2, &[4, 3])
}

/// A proof that has evidence of all kinds, of something that is far from possible.
fn property_proof(model_sha256: &str) -> Vec<u8> {
    let leaf = r#"{"slopes": ["A/f.", "z"], "signs": [0.25, 0.5]}"#;
    let lists = r#""inputs": [9.0, 9.0, 9.0], "ranges": [9.0, 9.0], "products": [0.5, 0.25],
        "signs": [0.1], "passes": [0.0, 0.2], "lines": [0.3]"#;
    let tree = format!(r#"[{{"neuron": [0, 1]}}, {leaf}, {{"neuron": [0, 2]}}, {leaf}, {leaf}]"#);
    let slopes = r#"[{"neuron": [1, 1], "above": ["Af/."], "below": ["/"]}]"#;
    let text = format!(
        r#"{{"schema": "rw-adv-property-proof/1", "model_sha256": "{model_sha256}", "property": "x",
        "property_sha256": "", "f32": false, "cases": [{{"lower": [0.0, 0.25, 0.0],
        "upper": [0.5, 0.25, 1.0], "any_of": [[{{"terms": [[0, 1.0], [1, -1.0]], "constant": -1e6}}]]}}],
        "trees": [{{"slopes": {slopes}, "again": [{{"slopes": {slopes}, "bounds": [
        {{"neuron": [1, 0], "above": true, "tree": {tree}}},
        {{"neuron": [1, 2], "above": false, "quadratic": {{"neurons": [[0, 3]], {lists}}}}}]}}],
        "nodes": [{{"neuron": [0, 2], "cuts": [{{"of": 0, "slopes": ["Az"]}}]}},
        {{"input": [2, 0.5]}}, {{"refuted": [{{"of": 0, "rows": [[0, 1.0]], "tree": {tree}}}]}},
        {{"refuted": [{{"of": 0, "quadratic": {{"neurons": [[0], [1]], {lists}}}}}]}},
        {{"refuted": [{{"of": 0, "slopes": ["A/", "z"], "signs": [0.5]}}]}}]}}]}}"#
    );
    text.into_bytes()
}

/// Whole files to damage.
fn corpus(reader: Reader, project: &Path, model: Option<&OnnxModel>) -> Vec<Vec<u8>> {
    let read = |name: &str| fs::read(project.join(name)).expect("a file of the project");
    match reader {
        Reader::Onnx => {
            let zoo = fs::read_dir(project.join("tests/zoo/accepted")).expect("the zoo");
            let mut names: Vec<PathBuf> = zoo.filter_map(|e| Some(e.ok()?.path())).collect();
            names.retain(|path| path.extension().is_some_and(|end| end == "onnx"));
            names.sort();
            let files = names.iter().filter_map(|path| fs::read(path).ok());
            files.filter(|bytes| bytes.len() < 20_000).collect()
        }
        Reader::Idx => {
            let mut bytes = vec![0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28];
            bytes.extend((0..2 * 784).map(|i| (i % 251) as u8));
            vec![bytes]
        }
        Reader::Npy => [("<f4", 4), ("<f8", 8), ("|u1", 1)].map(|(kind, size)| npy(kind, size)).into(),
        Reader::Png => vec![read("tests/zoo/README.md"), png()],
        Reader::Toml => vec![
            b"delta = 5\nimages = [3, 7, 9]\njson = true\nbranch = true\nverbose = 2\n".to_vec(),
            b"delta = \"5\"\nbranch = 100\n".to_vec(),
        ],
        Reader::Results => vec![RECORD.repeat(3).into_bytes()],
        Reader::Manifest => vec![MANIFEST.as_bytes().to_vec()],
        Reader::Proof => proofs(model.expect("proofs are about a model")),
        Reader::PropertyProof => Vec::new(),
        Reader::Vnnlib => vec![
            b"; two inputs\n(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n\
              (assert (<= X_0 1.0))\n(assert (>= X_0 0))\n(assert (or (and (<= X_1 1) (>= X_1 -1)) (and (<= X_1 3) (>= X_1 2))))\n\
              (assert (>= Y_0 0.5))\n"
                .to_vec(),
            read("tests/README.md"),
        ],
    }
}

fn npy(kind: &str, size: usize) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (2, 784), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(vec![0; 2 * 784 * size]);
    bytes
}

/// 8 × 8 grey pixels.
fn png() -> Vec<u8> {
    let picture = image::GrayImage::from_fn(8, 8, |x, y| image::Luma([(16 * x + y) as u8]));
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, image::ImageFormat::Png).expect("in memory");
    bytes.into_inner()
}

/// Proofs of a search of our own.
fn proofs(model: &OnnxModel) -> Vec<Vec<u8>> {
    use rw_adv::attack::{Attack, ImageAttack, classify};
    use rw_adv::budget::Budget;
    use rw_adv::data::Sample;
    use rw_adv::network::Label;
    use rw_adv::proof::{ImageStatement, SCHEMA, Statement};
    use rw_adv::solve::BranchLimits;

    let pixels = vec![0.5_f32, 0.25, 0.75];
    let sample = Sample { index: 0, name: None, pixels: pixels.clone(), label: None };
    let predicted = classify(model, &sample).expect("a classifier").predicted;
    let target = Label(1 - predicted.0);
    let limits = BranchLimits { nodes: 50, gap: 1e-6, parallel: false };
    let of_delta = |delta: f64| {
        let attack = Attack { branch: Some(limits), proofs: true, ..Attack::within(delta) };
        let image = ImageAttack::new(model, &sample, predicted, &attack);
        let answer = image.attack(target, &Budget::unlimited(), &()).expect("an answer");
        let statement = Statement::Image(ImageStatement {
            image: 0,
            original: pixels.clone(),
            predicted: predicted.0,
            target: target.0,
            norm: "l1".into(),
            delta,
        });
        let (schema, model_sha256) = (SCHEMA.into(), model.sha256.clone());
        let claims = answer.solution.claims;
        serde_json::to_vec(&ProofFile { schema, model_sha256, statement, claims }).expect("JSON")
    };
    [0.1, 0.8, 2.0].map(of_delta).into()
}

const RECORD: &str = "{\"schema\":\"rw-adv/1\",\"image\":3,\"label\":1,\"predicted\":1,\"target\":2,\"delta\":5.0,\"norm\":\"l1\",\
\"verdict\":\"robust\",\"margin\":-1.0,\"margin_f32\":-1.0,\"margin_png\":null,\"upper_bound\":null,\"gap\":null,\"bound_method\":null,\
\"optimal\":false,\"claimed_bound\":null,\"distance\":1.5,\"changed_pixels\":3,\"starts\":1,\"regions\":2,\"lps\":3,\"iterations\":4,\
\"nodes\":0,\"depth\":0,\"open_nodes\":0,\"seconds\":0.0,\"seconds_to_best\":0.0,\"stop\":\"no_gain\",\"seed\":0,\"png\":null,\"npy\":null}\n";

const MANIFEST: &str = "{\"schema\":\"rw-adv/manifest/1\",\"version\":\"0.1.0\",\"contents\":\"attacks\",\
\"settings\":{\"model\":\"m.onnx\",\"delta\":5.0,\"images\":[4,7]},\"items\":[[4,[3]],[7,[2,5]]]}\n";
