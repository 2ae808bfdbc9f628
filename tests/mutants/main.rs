//! The independent checker against damaged proofs: none is accepted that claims less than a value that is attained.
//!
//! True proofs of all kinds are made, then damaged in thousands of ways. A damaged proof may still be true: numbers in it are proposals, and a
//! bound has a little room. So an accepted one is compared with the best value that the search finds for what it states.

mod bounded_again;
mod halves;
mod properties;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::attack::{Answer, Attack, ImageAttack};
use rw_adv::budget::Budget;
use rw_adv::data::Sample;
use rw_adv::network::Label;
use rw_adv::onnx::OnnxModel;
use rw_adv::proof::{Claim, ImageStatement, ProofFile, SCHEMA, Statement};
use rw_adv::run::{Claimed, SelfCheck};
use rw_adv::sets::Norm;
use rw_adv::solve::{BranchLimits, Goal};
use rw_adv_check::{Model, check, parse_proof};
use serde_json::{Value, json};

/// A field of a protobuf message that has a length.
pub(crate) fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 128 {
        out.push(length as u8 | 128);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(bytes);
    out
}

/// A small number in a message.
pub(crate) fn varint(number: u8, value: usize) -> Vec<u8> {
    let mut out = vec![number << 3];
    let mut value = value;
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

pub(crate) fn tensor(name: &str, dims: &[usize], values: &[f32]) -> Vec<u8> {
    let mut out: Vec<u8> = dims.iter().flat_map(|&dim| varint(1, dim)).collect();
    out.extend(varint(2, 1));
    out.extend(field(8, name.as_bytes()));
    out.extend(field(9, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()));
    out
}

pub(crate) fn value_info(name: &str, dims: &[usize]) -> Vec<u8> {
    let shape: Vec<u8> = dims.iter().flat_map(|&dim| field(1, &varint(1, dim))).collect();
    let tensor = [varint(1, 1), field(2, &shape)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

/// A layer of a network: numbers of inputs and outputs, weights by inputs, biases.
pub(crate) struct Layer {
    widths: [usize; 2],
    weights: Vec<f32>,
    biases: Vec<f32>,
}

/// What a hidden layer does with `g = Wx + b`.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Relu,
    LeakyRelu,
    Abs,
    /// `relu(g) + g`: a value goes past its ReLU.
    Residual,
    /// `max(g, Vx + b)`, where V is W with its rows in the opposite order.
    Maxout,
}

pub(crate) fn node(op: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|name| field(1, name.as_bytes())).collect();
    field(1, &[inputs, field(2, output.as_bytes()), field(4, op.as_bytes())].concat())
}

/// The nodes of a layer's units, from `x` and `g` to the output.
pub(crate) fn unit_nodes(unit: Unit, layer: &Layer, [x, g, b, output]: [&str; 4]) -> Vec<u8> {
    match unit {
        Unit::Relu => node("Relu", &[g], output),
        Unit::LeakyRelu => node("LeakyRelu", &[g], output),
        Unit::Abs => node("Abs", &[g], output),
        Unit::Residual => {
            let on = format!("{output}_on");
            [node("Relu", &[g], &on), node("Add", &[&on, g], output)].concat()
        }
        Unit::Maxout => {
            let (v, other) = (format!("{output}_v"), format!("{output}_other"));
            let rows = layer.weights.chunks(layer.widths[1]).rev();
            let weights: Vec<f32> = rows.flatten().copied().collect();
            let second = node("Gemm", &[x, &v, b], &other);
            let v = field(5, &tensor(&v, &layer.widths, &weights));
            [v, second, node("Max", &[g, &other], output)].concat()
        }
    }
}

/// An ONNX file: Gemm and units in turn, then perhaps another operator.
pub(crate) fn write_model(path: &Path, layers: &[Layer], units: &[Unit], last_op: Option<&str>) {
    let (mut graph, mut data) = (Vec::new(), "x".to_owned());
    let last = layers.len() - 1;
    for (number, layer) in layers.iter().enumerate() {
        let Layer { widths, weights, biases } = layer;
        let name = |letter: &str| format!("{letter}{number}");
        let (w, b, g, h) = (name("w"), name("b"), name("g"), name("h"));
        graph.extend(field(5, &tensor(&w, widths, weights)));
        graph.extend(field(5, &tensor(&b, &widths[1..], biases)));
        graph.extend(node("Gemm", &[&data, &w, &b], &g));
        if number < last {
            let unit = units[number % units.len()];
            graph.extend(unit_nodes(unit, layer, [&data, &g, &b, &h]));
            data = h;
        } else if let Some(op) = last_op {
            graph.extend(node(op, &[&g], &h));
            data = h;
        } else {
            data = g;
        }
    }
    graph.extend(field(2, b"random"));
    graph.extend(field(11, &value_info("x", &[1, layers[0].widths[0]])));
    graph.extend(field(12, &value_info(&data, &[1, layers[last].widths[1]])));
    let opset = field(8, &varint(2, 17));
    let model = [varint(1, 8), field(7, &graph), opset].concat();
    std::fs::write(path, model).expect("writable");
}

/// An ONNX file with a random network of these units.
pub(crate) fn random_model_of(path: &Path, widths: &[usize], units: &[Unit], seed: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let layer = |pair: &[usize]| {
        let mut draw = |many: usize, scale: f32| -> Vec<f32> {
            (0..many).map(|_| rng.random_range(-scale..scale)).collect()
        };
        let weights = draw(pair[0] * pair[1], (2.0 / pair[0] as f32).sqrt());
        Layer { widths: [pair[0], pair[1]], weights, biases: draw(pair[1], 0.1) }
    };
    write_model(path, &widths.windows(2).map(layer).collect::<Vec<_>>(), units, None);
}

/// An ONNX file with a random ReLU network.
pub(crate) fn random_model(path: &Path, widths: &[usize], seed: u64) {
    random_model_of(path, widths, &[Unit::Relu], seed);
}

/// A model, read by both readers.
pub(crate) struct Models {
    ours: OnnxModel,
    theirs: Model,
}

impl Models {
    fn read(path: &Path) -> Self {
        let ours = OnnxModel::load(path).expect("loads");
        let theirs = Model::read(path).expect("the checker reads it");
        assert_eq!(ours.sha256, theirs.sha256);
        Self { ours, theirs }
    }

    fn answer(&self, image: &ImageStatement, attack: &Attack, seconds: f64) -> Answer {
        let pixels = image.original.clone();
        let sample = Sample { index: image.image, name: None, pixels, label: None };
        let image_attack = ImageAttack::new(&self.ours, &sample, Label(image.predicted), attack);
        let budget = Budget::start_cpu(Some(Duration::from_secs_f64(seconds)), None);
        image_attack.attack(Label(image.target), &budget, &()).expect("an answer")
    }

    /// A proof about an image.
    fn proof(&self, image: ImageStatement, goal: Goal) -> Value {
        let branch = Some(BranchLimits { nodes: 60, gap: 1e-4, parallel: false });
        let norm: Norm = image.norm.parse().expect("a norm");
        let attack = Attack { goal, branch, norm, proofs: true, ..Attack::within(image.delta) };
        let claims = self.answer(&image, &attack, 20.0).solution.claims;
        let (schema, model_sha256) = (SCHEMA.into(), self.ours.sha256.clone());
        let statement = Statement::Image(image);
        serde_json::to_value(ProofFile { schema, model_sha256, statement, claims }).expect("JSON")
    }

    /// The best values known of what a proof states, in exact arithmetic and in f32.
    fn attained(&self, proof: &Value) -> Option<(f64, f64)> {
        let image: ImageStatement = serde_json::from_value(proof.clone()).ok()?;
        let norm: Norm = image.norm.parse().ok()?;
        let attack = Attack { norm, ..Attack::within(image.delta) };
        let answer = self.answer(&image, &attack, 2.0);
        let point = answer.solution.judgement.point();
        Some((point.value(), point.value_f32()))
    }

    fn check(&self, proof: &Value) -> Result<(), String> {
        let proof = parse_proof(proof.to_string().as_bytes())?;
        check(&self.theirs, &proof, false).map(|_| ())
    }

    fn accepts(&self, proof: &Value) -> bool {
        self.check(proof).is_ok()
    }

    /// The bounds that follow from a proof, in f64 rounded outward or with exact numbers.
    fn bounds(&self, proof: &Value, exact: bool) -> Result<Vec<f64>, String> {
        let proof = parse_proof(proof.to_string().as_bytes())?;
        let theorem = check(&self.theirs, &proof, exact)?;
        Ok(theorem.claims.iter().map(|claim| claim.bound).collect())
    }
}

/// A random image with the label that the network gives it, and another.
pub(crate) fn random_image(models: &Models, delta: f64, norm: &str, seed: u64) -> ImageStatement {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let inputs = models.ours.network.inputs();
    let pixel = |rng: &mut ChaCha8Rng| f32::from(rng.random_range(0..=16u8)) / 16.0;
    let original: Vec<f32> = (0..inputs).map(|_| pixel(&mut rng)).collect();
    let logits = models.ours.replay.logits(&original).expect("runs");
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    let (predicted, target, norm) = (order[0], order[1], norm.into());
    ImageStatement { image: seed as usize, original, predicted, target, norm, delta }
}

/// Every number below a value, by its path.
pub(crate) fn numbers(value: &Value, path: String, out: &mut Vec<String>) {
    match value {
        Value::Number(_) => out.push(path),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(k, v)| numbers(v, format!("{path}/{k}"), out));
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, v)| numbers(v, format!("{path}/{key}"), out));
        }
        _ => {}
    }
}

/// Moves one number of the proof, a little or far.
pub(crate) fn move_a_number(proof: &mut Value, within: &str, rng: &mut ChaCha8Rng) -> Option<()> {
    let mut paths = Vec::new();
    numbers(proof.pointer(within)?, within.to_owned(), &mut paths);
    let path = paths.get(rng.random_range(0..paths.len().max(1)))?;
    let place = proof.pointer_mut(path)?;
    if let Some(index) = place.as_u64() {
        *place = json!(if rng.random_bool(0.5) { index + 1 } else { index.saturating_sub(1) });
        return Some(());
    }
    let x = place.as_f64()?;
    *place = json!(match rng.random_range(0..8) {
        0 => x.next_up(),
        1 => x.next_down(),
        2 => -x,
        3 => 0.0,
        4 => 1.0,
        5 => x * rng.random_range(0.5..2.0),
        6 => x + rng.random_range(-1.0..1.0),
        _ => 1e6 * x,
    });
    Some(())
}

/// Damages a proof in one way; the way's name.
pub(crate) fn damage(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let claims = proof["claims"].as_array()?.len();
    let claim = format!("/claims/{}", rng.random_range(0..claims));
    let leaves = proof.pointer(&format!("{claim}/leaves"))?.as_array()?.len();
    let (one, other) = (rng.random_range(0..leaves), rng.random_range(0..leaves));
    let leaf = format!("{claim}/leaves/{one}");
    let way = rng.random_range(0..15);
    let name = match way {
        0 => {
            let bound = proof.pointer_mut(&format!("{claim}/bound"))?;
            let x = bound.as_f64()?;
            let less = [f64::EPSILON * x.abs(), 1e-9, 1e-6, 1e-3, 0.1][rng.random_range(0..5)];
            *bound = json!(x - less);
            "bound lowered"
        }
        1 => {
            proof.pointer_mut(&format!("{claim}/leaves"))?.as_array_mut()?.remove(one);
            "leaf dropped"
        }
        2 => {
            let copy = proof.pointer(&leaf)?.clone();
            proof.pointer_mut(&format!("{claim}/leaves"))?.as_array_mut()?.push(copy);
            "leaf doubled"
        }
        3 => {
            let sides = [one, other].map(|k| format!("{claim}/leaves/{k}/sides"));
            let [a, b] = sides.clone().map(|path| proof.pointer(&path).cloned());
            *proof.pointer_mut(&sides[0])? = b?;
            *proof.pointer_mut(&sides[1])? = a?;
            "leaves swapped"
        }
        4 => {
            move_a_number(proof, &format!("{leaf}/sides"), rng)?;
            "split shifted in one leaf"
        }
        5 => {
            // The same split in all leaves and parts.
            let text = proof.to_string();
            let amounts: Vec<&str> = text.split("\"amount\":").skip(1).collect();
            let amount = amounts.get(rng.random_range(0..amounts.len().max(1)))?;
            let amount = &amount[..amount.find([',', '}'])?];
            let moved = amount.parse::<f64>().ok()? + 1.0 / 1024.0;
            let text =
                text.replace(&format!("\"amount\":{amount}"), &format!("\"amount\":{moved}"));
            *proof = serde_json::from_str(&text).ok()?;
            "split shifted everywhere"
        }
        6 => {
            let sides = proof.pointer_mut(&format!("{leaf}/sides"))?.as_array_mut()?;
            let side = rng.random_range(0..sides.len().max(1));
            let side = sides.get_mut(side)?.as_object_mut()?;
            let (kind, what) = side.iter().next().map(|(k, v)| (k.clone(), v.clone()))?;
            let turned = match kind.as_str() {
                "on" => "off",
                "off" => "on",
                "at_least" => "at_most",
                _ => "at_least",
            };
            *side = [(turned.to_owned(), what)].into_iter().collect();
            "side turned"
        }
        7 => {
            let needs = proof.pointer_mut(&format!("{leaf}/needs"))?;
            *needs =
                json!((needs.as_u64()? + 1).saturating_sub(2 * u64::from(rng.random_bool(0.7))));
            "needs changed"
        }
        8 => {
            move_a_number(proof, &format!("{leaf}/part"), rng)?;
            "part changed"
        }
        9 => {
            move_a_number(proof, &format!("{claim}/parts"), rng)?;
            "number of a part moved"
        }
        10 => {
            proof["delta"] = json!(proof["delta"].as_f64()? * rng.random_range(1.0..1.5));
            "set enlarged"
        }
        11 => {
            move_a_number(proof, "/original", rng)?;
            "pixel changed"
        }
        12 => {
            let name = if rng.random_bool(0.5) { "target" } else { "predicted" };
            move_a_number(proof, &format!("/{name}"), rng)?;
            "label changed"
        }
        13 => {
            let f32 = proof.pointer_mut(&format!("{claim}/f32"))?;
            *f32 = json!(!f32.as_bool()?);
            "arithmetic changed"
        }
        _ => {
            let kind = ["lines", "multipliers"][rng.random_range(0..2)];
            move_a_number(proof, &format!("{leaf}/{kind}"), rng)?;
            "number of a leaf moved"
        }
    };
    Some(name)
}

/// `RW_ADV_MUTANTS=10` damages ten times as many.
pub(crate) fn times() -> usize {
    std::env::var("RW_ADV_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Damages a proof many times. How often which kind was refused, and accepted.
pub(crate) fn mutate(models: &Models, proof: &Value, many: usize, seed: u64, counts: &mut Counts) {
    assert_eq!(models.check(proof), Ok(()), "the true proof of {seed}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let original = models.attained(proof).expect("a statement");
    for number in 0..many * times() {
        let mut mutant = proof.clone();
        let Some(kind) = damage(&mut mutant, &mut rng).filter(|_| mutant != *proof) else {
            continue;
        };
        let count = counts.0.entry(kind).or_default();
        if !models.accepts(&mutant) {
            count[0] += 1;
            continue;
        }
        count[1] += 1;
        let statement = ["original", "delta", "norm", "predicted", "target"];
        let same = statement.iter().all(|field| mutant[field] == proof[field]);
        let (exact, f32) =
            if same { original } else { models.attained(&mutant).expect("a statement") };
        for claim in mutant["claims"].as_array().expect("claims") {
            let bound = claim["bound"].as_f64().expect("a bound");
            let attained = if claim["f32"] == true { f32 } else { exact };
            assert!(bound >= attained, "{kind}, mutant {number} of {seed}: {bound} < {attained}");
        }
    }
}

/// Refused and accepted mutants by kind.
#[derive(Default)]
pub(crate) struct Counts(BTreeMap<&'static str, [usize; 2]>);

impl Counts {
    fn print(&self, name: &str) {
        for (kind, [refused, accepted]) in &self.0 {
            let line = format!("{name}: {kind}: {refused} refused, {accepted} accepted\n");
            // For the page on measurements; nothing depends on it.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    fn total(&self) -> usize {
        self.0.values().flatten().sum()
    }

    fn accepted(&self, kind: &str) -> usize {
        self.0.get(kind).map_or(0, |count| count[1])
    }
}

/// What a structure must never get away with.
pub(crate) fn no_gaps(counts: &Counts) {
    for kind in ["leaf doubled", "leaf dropped"] {
        assert_eq!(counts.accepted(kind), 0, "{kind}");
    }
}

pub(crate) fn temporary() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("model.onnx");
    (directory, path)
}

#[test]
fn no_damaged_proof_by_signs_claims_less_than_is_attained() {
    let (_kept, path) = temporary();
    let mut counts = Counts::default();
    for seed in 0..8 {
        random_model(&path, &[6, 12, 12, 4], seed);
        let models = Models::read(&path);
        let (norm, delta) = [("l1", 0.75), ("linf", 0.125)][seed as usize % 2];
        let proof = models.proof(random_image(&models, delta, norm, seed), Goal::Optimum);
        mutate(&models, &proof, 400, seed, &mut counts);
    }
    counts.print("signs");
    assert!(counts.total() > 2000, "{:?}", counts.0);
    no_gaps(&counts);
}

#[test]
fn no_damaged_proof_by_pixels_and_cuts_claims_less_than_is_attained() {
    let (_kept, path) = temporary();
    let (mut counts, mut cuts) = (Counts::default(), 0);
    for seed in 0..30 {
        random_model(&path, &[40, 160, 160, 3], seed);
        let models = Models::read(&path);
        let proof = models.proof(random_image(&models, 1.25, "l1", seed), Goal::Verdict);
        let text = proof["claims"].to_string();
        // An adversary needs no proof, and some bounds of the whole set are enough.
        if text.contains("at_least") || text.contains("cut") {
            assert!(text.contains("guide"), "{seed}");
            cuts += usize::from(text.contains("cut"));
            mutate(&models, &proof, 200, seed, &mut counts);
        }
        if counts.total() > 500 && cuts > 1 {
            break;
        }
    }
    assert!(cuts > 1, "{cuts} proofs with cuts");
    counts.print("pixels");
    assert!(counts.total() > 500, "{:?}", counts.0);
    no_gaps(&counts);
}

#[test]
fn no_damaged_proof_about_other_units_claims_less_than_is_attained() {
    let (_kept, path) = temporary();
    let (mut counts, mut about_f32) = (Counts::default(), 0);
    let units = [Unit::LeakyRelu, Unit::Abs, Unit::Residual, Unit::Maxout];
    for seed in 0..8 {
        let first = seed as usize % units.len();
        let pair = [units[first], units[(first + 1 + seed as usize / 4) % units.len()]];
        random_model_of(&path, &[5, 8, 8, 4], &pair, seed + 200);
        let models = Models::read(&path);
        let (norm, delta) = [("l1", 0.5), ("linf", 0.0625)][seed as usize / 4];
        let proof = models.proof(random_image(&models, delta, norm, seed), Goal::Optimum);
        // A claim about f32 is made of what is robust, not of an optimum above 0.
        let claims = proof["claims"].as_array().expect("claims");
        about_f32 += claims.iter().filter(|claim| claim["f32"] == true).count();
        mutate(&models, &proof, 200, seed, &mut counts);
    }
    assert!(about_f32 > 2, "{about_f32} claims about f32");
    counts.print("units");
    assert!(counts.total() > 1000, "{:?}", counts.0);
    no_gaps(&counts);
}

#[test]
fn a_proof_of_another_model_of_the_same_shape_is_not_accepted_for_less_than_is_attained() {
    let (_kept, path) = temporary();
    let mut accepted = 0;
    for seed in 0..40 {
        random_model(&path, &[5, 8, 8, 3], seed);
        let models = Models::read(&path);
        let proof = models.proof(random_image(&models, 0.5, "l1", seed), Goal::Optimum);
        random_model(&path, &[5, 8, 8, 3], seed + 1000);
        let others = Models::read(&path);
        let mut forged = proof.clone();
        assert!(!others.accepts(&forged), "the hash is another one");
        forged["model_sha256"] = json!(others.theirs.sha256);
        if others.accepts(&forged) {
            accepted += 1;
            let (exact, f32) = others.attained(&forged).expect("a statement");
            for claim in forged["claims"].as_array().expect("claims") {
                let attained = if claim["f32"] == true { f32 } else { exact };
                assert!(claim["bound"].as_f64().is_some_and(|bound| bound >= attained), "{seed}");
            }
        }
    }
    assert!(accepted < 20, "{accepted} of 40 happen to be true");
}

/// What the third opinion says: whether it accepts. `None` where there is no Python.
pub(crate) fn python(model: &Path, proof: &Path) -> Option<bool> {
    let mut script = Command::new("python3");
    script.current_dir(env!("CARGO_MANIFEST_DIR")).args(["-B", "scripts/check_proof.py"]);
    let output = script.args([model, proof]).output().ok()?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    match output.status.code() {
        Some(0) => Some(true),
        Some(1) => Some(false),
        _ => panic!("{said}"),
    }
}

#[test]
fn three_checkers_agree_on_tiny_networks() {
    let (directory, path) = temporary();
    let file = directory.path().join("proof.json");
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..6 {
        random_model(&path, &[5, 7, 7, 3], seed + 50);
        let models = Models::read(&path);
        let (norm, delta) = [("l1", 0.75), ("linf", 0.25)][seed as usize % 2];
        let mut proof = models.proof(random_image(&models, delta, norm, seed), Goal::Optimum);
        // The script does not check claims about f32.
        proof["claims"].as_array_mut().expect("claims").retain(|claim| claim["f32"] == false);
        let (rounded, exact) = (models.bounds(&proof, false), models.bounds(&proof, true));
        let (rounded, exact) = (rounded.expect("holds"), exact.expect("holds"));
        for (rounded, exact) in rounded.iter().zip(&exact) {
            assert!(exact <= rounded && rounded - exact < 1e-9, "{exact} {rounded}");
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for number in 0..12 {
            let mut mutant = proof.clone();
            if number > 0 && damage(&mut mutant, &mut rng).is_none() {
                continue;
            }
            std::fs::write(&file, mutant.to_string()).expect("writable");
            let ours = models.bounds(&mutant, true).is_ok();
            // What holds with roundings holds without.
            assert!(ours || !models.accepts(&mutant), "{seed} {number}");
            if mutant["claims"].to_string().contains("\"f32\":true") {
                continue;
            }
            if let Some(theirs) = python(&path, &file) {
                assert_eq!(ours, theirs, "{seed} {number}: {mutant}");
            }
            *(if ours { &mut accepted } else { &mut refused }) += 1;
        }
    }
    assert!(refused > 5 && accepted > 5, "{refused} {accepted}");
}

#[test]
fn an_answer_whose_proof_does_not_hold_is_not_stored() {
    let (_kept, path) = temporary();
    random_model(&path, &[6, 12, 12, 4], 3);
    let models = Models::read(&path);
    let image = random_image(&models, 0.25, "l1", 3);
    let attack = Attack { proofs: true, ..Attack::within(image.delta) };
    let claims = models.answer(&image, &attack, 20.0).solution.claims;
    let sample = Sample { index: 3, name: None, pixels: image.original.clone(), label: None };
    let pair = (Label(image.predicted), Label(image.target));
    let sha256 = rw_adv::onnx::sha256(&path).expect("readable");
    let checker = SelfCheck::open(&path, &sha256).expect("supported");
    let check = |claims: &[Claim], bound: Option<f64>, robust: bool| {
        checker.check_attack(&sample, pair, &attack, Claimed { claims, bound, robust })
    };
    let best = claims.iter().map(|claim| claim.bound).fold(f64::INFINITY, f64::min);
    let robust = claims.iter().any(|claim| claim.f32 && claim.bound < 0.0);
    assert!(check(&claims, Some(best), robust).is_ok());
    let refused = |claims: &[Claim], bound: f64, robust: bool| {
        check(claims, Some(bound), robust).expect_err("refused").to_string()
    };
    assert!(refused(&[], best, robust).contains("there is no proof"));
    assert!(refused(&claims, best - 1e-6, robust).contains("is recorded"));
    let exact: Vec<Claim> = claims.iter().filter(|claim| !claim.f32).cloned().collect();
    assert!(refused(&exact, best, true).contains("no bound for f32 is below zero"));
    let mut forged = claims.clone();
    forged[0].bound -= 1e-3;
    assert!(refused(&forged, best, robust).contains("is proven"));
}
