//! The independent checker against damaged proofs: none is accepted that claims less than a value that is attained.
//!
//! True proofs of all kinds are made, then damaged in thousands of ways. A damaged proof may still be true: numbers in it are proposals, and a
//! bound has a little room. So an accepted one is compared with the best value that the search finds for what it states.

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
use rw_adv::proof::{
    Claim, ImageStatement, PROPERTY_SCHEMA, ProofFile, PropertyProofFile, SCHEMA, Statement,
};
use rw_adv::run::{Claimed, SelfCheck};
use rw_adv::sets::Norm;
use rw_adv::solve::{BranchLimits, Goal, SolveOptions};
use rw_adv::verify::{Verification, VerifyAnswer, VerifyResult};
use rw_adv::vnnlib::VnnlibQuery;
use rw_adv_check::{Model, check, check_property, parse_proof, parse_property_proof};
use serde_json::{Value, json};

/// A field of a protobuf message that has a length.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
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
fn varint(number: u8, value: usize) -> Vec<u8> {
    let mut out = vec![number << 3];
    let mut value = value;
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn tensor(name: &str, dims: &[usize], values: &[f32]) -> Vec<u8> {
    let mut out: Vec<u8> = dims.iter().flat_map(|&dim| varint(1, dim)).collect();
    out.extend(varint(2, 1));
    out.extend(field(8, name.as_bytes()));
    out.extend(field(9, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()));
    out
}

fn value_info(name: &str, dims: &[usize]) -> Vec<u8> {
    let shape: Vec<u8> = dims.iter().flat_map(|&dim| field(1, &varint(1, dim))).collect();
    let tensor = [varint(1, 1), field(2, &shape)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

/// A layer of a network: numbers of inputs and outputs, weights by inputs, biases.
struct Layer {
    widths: [usize; 2],
    weights: Vec<f32>,
    biases: Vec<f32>,
}

/// What a hidden layer does with `g = Wx + b`.
#[derive(Clone, Copy)]
enum Unit {
    Relu,
    LeakyRelu,
    Abs,
    /// `relu(g) + g`: a value goes past its ReLU.
    Residual,
    /// `max(g, Vx + b)`, where V is W with its rows in the opposite order.
    Maxout,
}

fn node(op: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|name| field(1, name.as_bytes())).collect();
    field(1, &[inputs, field(2, output.as_bytes()), field(4, op.as_bytes())].concat())
}

/// The nodes of a layer's units, from `x` and `g` to the output.
fn unit_nodes(unit: Unit, layer: &Layer, [x, g, b, output]: [&str; 4]) -> Vec<u8> {
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
fn write_model(path: &Path, layers: &[Layer], units: &[Unit], last_op: Option<&str>) {
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
fn random_model_of(path: &Path, widths: &[usize], units: &[Unit], seed: u64) {
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
fn random_model(path: &Path, widths: &[usize], seed: u64) {
    random_model_of(path, widths, &[Unit::Relu], seed);
}

/// A model, read by both readers.
struct Models {
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
        let budget = Budget::start(Some(Duration::from_secs_f64(seconds)), None);
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
fn random_image(models: &Models, delta: f64, norm: &str, seed: u64) -> ImageStatement {
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
fn numbers(value: &Value, path: String, out: &mut Vec<String>) {
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
fn move_a_number(proof: &mut Value, within: &str, rng: &mut ChaCha8Rng) -> Option<()> {
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
fn damage(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
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
fn times() -> usize {
    std::env::var("RW_ADV_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Damages a proof many times. How often which kind was refused, and accepted.
fn mutate(models: &Models, proof: &Value, many: usize, seed: u64, counts: &mut Counts) {
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
struct Counts(BTreeMap<&'static str, [usize; 2]>);

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
fn no_gaps(counts: &Counts) {
    for kind in ["leaf doubled", "leaf dropped"] {
        assert_eq!(counts.accepted(kind), 0, "{kind}");
    }
}

fn temporary() -> (tempfile::TempDir, PathBuf) {
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
fn python(model: &Path, proof: &Path) -> Option<bool> {
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

// Properties: proofs that no input of a box gives outputs that satisfy rows.

/// A box and thresholds: either `y0 − y1` reaches the first one, or `y2 − y0` the second and `y2 − y1` the third.
#[derive(Clone)]
struct Thresholds {
    lower: Vec<f64>,
    upper: Vec<f64>,
    at_least: [f64; 3],
}

impl Thresholds {
    /// The text of the property file.
    fn text(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("memory");
        (0..self.lower.len()).for_each(|i| line(format!("(declare-const X_{i} Real)")));
        (0..3).for_each(|i| line(format!("(declare-const Y_{i} Real)")));
        for (i, (lower, upper)) in self.lower.iter().zip(&self.upper).enumerate() {
            line(format!("(assert (>= X_{i} {lower:.30})) (assert (<= X_{i} {upper:.30}))"));
        }
        let [a, b, c] = self.at_least.map(|x| format!("{x:.30}"));
        line(format!(
            "(assert (or (and (>= (- Y_0 Y_1) {a})) (and (>= (- Y_2 Y_0) {b}) (>= (- Y_2 Y_1) {c}))))"
        ));
        text
    }

    /// The values that are compared with the thresholds, at sampled points of the box.
    fn samples(&self, models: &Models, seed: u64) -> Vec<[f64; 3]> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut sample = |number: usize| {
            let mut input = |(lower, upper): (&f64, &f64)| {
                let share = if number.is_multiple_of(3) {
                    f64::from(u8::from(rng.random_bool(0.5)))
                } else {
                    rng.random_range(0.0..1.0)
                };
                (lower + share * (upper - lower)).clamp(*lower, *upper) as f32
            };
            let point: Vec<f32> = self.lower.iter().zip(&self.upper).map(&mut input).collect();
            let y = models.ours.replay.logits(&point).expect("runs");
            let y: Vec<f64> = y.into_iter().map(f64::from).collect();
            [y[0] - y[1], y[2] - y[0], y[2] - y[1]]
        };
        (0..3000).map(&mut sample).collect()
    }

    /// The largest values of the two conjunctions that sampled points attain.
    fn attained(&self, models: &Models, seed: u64) -> [f64; 2] {
        let samples = self.samples(models, seed).into_iter();
        samples
            .fold([f64::NEG_INFINITY; 2], |most, [a, b, c]| [most[0].max(a), most[1].max(b.min(c))])
    }

    /// Whether a sampled point is a counterexample.
    fn is_attained(&self, models: &Models, seed: u64) -> bool {
        let [least_a, least_b, least_c] = self.at_least;
        let holds = |[a, b, c]: &[f64; 3]| *a > least_a || (*b > least_b && *c > least_c);
        self.samples(models, seed).iter().any(holds)
    }

    /// A box within [0, 1] whose sides f32 holds, and thresholds that are a little above what is attained there.
    fn random(models: &Models, room: f64, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 77);
        let inputs = models.ours.network.inputs();
        let width = if inputs < 10 { 8 } else { 2 };
        let sixteenth = |k: u8| f64::from(k) / 16.0;
        let lower: Vec<f64> = (0..inputs).map(|_| sixteenth(rng.random_range(0..=8))).collect();
        let upper = lower.iter().map(|x| x + sixteenth(width)).collect();
        let mut all = Self { lower, upper, at_least: [0.0; 3] };
        let [first, second] = all.attained(models, seed).map(|value| value + room);
        all.at_least = [first, second, second];
        all
    }

    fn answer(&self, models: &Models, proofs: bool, seconds: f64) -> VerifyAnswer {
        let query = VnnlibQuery::from_text(&self.text(), "thresholds").expect("a property");
        let branch = Some(BranchLimits { nodes: 4000, gap: 1e-6, parallel: false });
        let options = SolveOptions { branch, proofs, ..SolveOptions::default() };
        let budget = Budget::start(Some(Duration::from_secs_f64(seconds)), None);
        let problem = Verification::new(&models.ours, query, &options).expect("fits");
        problem.solve(&budget, &()).expect("an answer")
    }

    /// The proof that there is no such input, if it is found.
    fn proof(&self, models: &Models) -> Option<Value> {
        let answer = self.answer(models, true, 20.0);
        if answer.result != VerifyResult::Unsat {
            return None;
        }
        let (cases, trees) = answer.proof.expect("unsat has a proof").into_iter().unzip();
        let proof = PropertyProofFile {
            schema: PROPERTY_SCHEMA.into(),
            model_sha256: models.ours.sha256.clone(),
            property: "thresholds.vnnlib".into(),
            property_sha256: String::new(),
            cases,
            f32: true,
            trees,
        };
        Some(serde_json::to_value(proof).expect("JSON"))
    }

    /// The proof for thresholds that are only a little too high, and thresholds that are attained.
    fn tight_proof(&self, models: &Models) -> Option<(Value, [f64; 3])> {
        let (mut attained, mut room) = (None, 0.0);
        for step in 0..8 {
            let raised = Self { at_least: self.at_least.map(|x| x + room), ..self.clone() };
            match raised.answer(models, false, 5.0).result {
                VerifyResult::Sat => attained = Some(raised.at_least),
                VerifyResult::Unsat => {
                    return Some((raised.proof(models)?, attained.unwrap_or([f64::MIN; 3])));
                }
                _ => {}
            }
            room += 0.02 * f64::from(1 << step);
        }
        None
    }

    /// What a proof states.
    fn of(proof: &Value) -> Option<Self> {
        let case = proof.pointer("/cases/0")?;
        let list = |name: &str| serde_json::from_value::<Vec<f64>>(case[name].clone()).ok();
        let row =
            |conjunction: usize, row: usize| case["any_of"][conjunction][row]["constant"].as_f64();
        let at_least = [row(0, 0)?, row(1, 0)?, row(1, 1)?].map(|constant| -constant);
        Some(Self { lower: list("lower")?, upper: list("upper")?, at_least })
    }
}

impl Models {
    fn check_property(&self, proof: &Value, exact: bool) -> Result<(), String> {
        let proof = parse_property_proof(proof.to_string().as_bytes())?;
        check_property(&self.theirs, &proof, exact).map(|_| ())
    }
}

/// One of a list, by its place.
fn any(list: &Value, rng: &mut ChaCha8Rng) -> Option<usize> {
    let many = list.as_array()?.len();
    (many > 0).then(|| rng.random_range(0..many))
}

/// A node for which something holds, by its place.
fn any_node(proof: &Value, rng: &mut ChaCha8Rng, is: impl Fn(&Value) -> bool) -> Option<usize> {
    let nodes = proof.pointer("/trees/0/nodes")?.as_array()?;
    let such: Vec<usize> = (0..nodes.len()).filter(|&k| is(&nodes[k])).collect();
    such.get(rng.random_range(0..such.len().max(1))).copied()
}

/// Changes one character of a text with slopes.
fn change_slope(text: &mut Value, rng: &mut ChaCha8Rng) -> Option<()> {
    let mut slopes: Vec<u8> = text.as_str()?.bytes().collect();
    let at = rng.random_range(0..slopes.len().max(1));
    *slopes.get_mut(at)? = b"A/f.z0"[rng.random_range(0..6)];
    *text = json!(String::from_utf8(slopes).ok()?);
    Some(())
}

/// Damages what proves a statement, not the statement; the way's name.
fn damage_tree(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let has = |name: &'static str| move |node: &Value| node.get(name).is_some();
    let path = |node: usize| format!("/trees/0/nodes/{node}");
    let anywhere = any(proof.pointer("/trees/0/nodes")?, rng)?;
    let name = match rng.random_range(0..13) {
        0 => {
            proof.pointer_mut("/trees/0/nodes")?.as_array_mut()?.remove(anywhere);
            "node dropped"
        }
        1 => {
            let nodes = proof.pointer_mut("/trees/0/nodes")?.as_array_mut()?;
            nodes.insert(anywhere, nodes[anywhere].clone());
            "node doubled"
        }
        2 => {
            let other = any(proof.pointer("/trees/0/nodes")?, rng)?;
            proof.pointer_mut("/trees/0/nodes")?.as_array_mut()?.swap(anywhere, other);
            "nodes swapped"
        }
        3 => {
            let node = any_node(proof, rng, has("input"))?;
            move_a_number(proof, &format!("{}/input", path(node)), rng)?;
            "split of an input shifted"
        }
        4 => {
            let node = any_node(proof, rng, has("neuron"))?;
            move_a_number(proof, &format!("{}/neuron", path(node)), rng)?;
            "split by another neuron"
        }
        5 => {
            // The sides of a leaf's parent change places.
            let nodes = proof.pointer_mut("/trees/0/nodes")?.as_array_mut()?;
            let splits = |node: &Value| node.get("input").is_some() || node.get("neuron").is_some();
            let is =
                |k: &usize| splits(&nodes[*k]) && !splits(&nodes[k + 1]) && !splits(&nodes[k + 2]);
            let such: Vec<usize> = (0..nodes.len().saturating_sub(2)).filter(is).collect();
            let node = *such.get(rng.random_range(0..such.len().max(1)))?;
            nodes.swap(node + 1, node + 2);
            "sides turned"
        }
        6 => {
            let node = any_node(proof, rng, |node| has("input")(node) || has("neuron")(node))?;
            let node = proof.pointer_mut(&path(node))?.as_object_mut()?;
            node.remove("input");
            node.remove("neuron");
            "split taken away"
        }
        7 => {
            let node = any_node(proof, rng, has("refuted"))?;
            let refuted = proof.pointer_mut(&format!("{}/refuted", path(node)))?.as_array_mut()?;
            refuted.remove(rng.random_range(0..refuted.len()));
            "refutation dropped"
        }
        8 => {
            let node = any_node(proof, rng, has("refuted"))?;
            let entry = proof.pointer_mut(&format!("{}/refuted/0", path(node)))?;
            entry["of"] = json!(1 - entry["of"].as_u64()?.min(1));
            "other conjunction"
        }
        9 => {
            let node = any_node(proof, rng, has("refuted"))?;
            let entry = proof.pointer_mut(&format!("{}/refuted/0", path(node)))?;
            let weight = [1.0, 0.0, -1.0, 1e-300, 1e300][rng.random_range(0..5)];
            entry["rows"] = json!([[rng.random_range(0..3), weight]]);
            "other row"
        }
        10 => {
            let kind = ["refuted", "cuts"][rng.random_range(0..2)];
            let node = any_node(proof, rng, has(kind))?;
            let entry = any(proof.pointer(&format!("{}/{kind}", path(node)))?, rng)?;
            move_a_number(proof, &format!("{}/{kind}/{entry}/signs", path(node)), rng)?;
            "multiplier moved"
        }
        11 => {
            let kind = ["refuted", "cuts"][rng.random_range(0..2)];
            let node = any_node(proof, rng, has(kind))?;
            let slopes = format!("{}/{kind}/0/slopes", path(node));
            let layer = any(proof.pointer(&slopes)?, rng)?;
            change_slope(proof.pointer_mut(&format!("{slopes}/{layer}"))?, rng)?;
            "slope changed"
        }
        _ => {
            let neuron = any(proof.pointer("/trees/0/slopes")?, rng)?;
            let side = ["above", "below"][rng.random_range(0..2)];
            let layer = format!("/trees/0/slopes/{neuron}/{side}/0");
            change_slope(proof.pointer_mut(&layer)?, rng)?;
            "slope of a neuron changed"
        }
    };
    Some(name)
}

/// Damages the statement; the way's name.
fn damage_property(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let constants = ["/cases/0/any_of/0/0", "/cases/0/any_of/1/0", "/cases/0/any_of/1/1"];
    let name = match rng.random_range(0..3) {
        0 => {
            let side = ["lower", "upper"][rng.random_range(0..2)];
            let list = format!("/cases/0/{side}");
            let input = any(proof.pointer(&list)?, rng)?;
            let value = proof.pointer_mut(&format!("{list}/{input}"))?;
            let by = rng.random_range(0.0..0.3);
            *value = json!(value.as_f64()? + if side == "lower" { -by } else { by });
            "box enlarged"
        }
        1 => {
            let row = proof.pointer_mut(constants[rng.random_range(0..3)])?;
            let by = [1e-12, 1e-6, 1e-3, 0.01, 0.1, 1.0][rng.random_range(0..6)];
            row["constant"] = json!(row["constant"].as_f64()? + by);
            "threshold lowered"
        }
        _ => {
            let row = proof.pointer_mut(constants[rng.random_range(0..3)])?;
            row["strict"] = json!(!row["strict"].as_bool()?);
            "strictness turned"
        }
    };
    Some(name)
}

/// Damages a true proof, and the same proof of something false. No mutant of that is accepted; what is accepted has no counterexample.
fn mutate_property(
    models: &Models,
    (proof, attained): (&Value, [f64; 3]),
    many: usize,
    seed: u64,
    counts: &mut Counts,
) {
    assert_eq!(models.check_property(proof, false), Ok(()), "the true proof of {seed}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let sampled = Thresholds::of(proof).expect("a statement").attained(models, seed);
    let sampled = [sampled[0], sampled[1], sampled[1]].map(|value| value - 1e-6);
    let mut wrong = proof.clone();
    for (k, (conjunction, row)) in [(0, 0), (1, 0), (1, 1)].into_iter().enumerate() {
        let constant = &mut wrong["cases"][0]["any_of"][conjunction][row]["constant"];
        *constant = json!(-attained[k].max(sampled[k]));
    }
    assert!(models.check_property(&wrong, false).is_err(), "{seed}: attained");
    for number in 0..many * times() {
        let (mut mutant, mut forged) = (proof.clone(), wrong.clone());
        let before = rng.clone();
        let Some(kind) = damage_tree(&mut mutant, &mut rng).filter(|_| mutant != *proof) else {
            continue;
        };
        let accepted = models.check_property(&mutant, false).is_ok();
        counts.0.entry(kind).or_default()[usize::from(accepted)] += 1;
        let _ = damage_tree(&mut forged, &mut before.clone());
        let forged = models.check_property(&forged, false);
        assert!(
            forged.is_err(),
            "{kind}, mutant {number} of {seed}: a false statement is accepted"
        );
    }
    for number in 0..many / 4 * times() {
        let mut mutant = proof.clone();
        let Some(kind) = damage_property(&mut mutant, &mut rng).filter(|_| mutant != *proof) else {
            continue;
        };
        let accepted = models.check_property(&mutant, false).is_ok();
        counts.0.entry(kind).or_default()[usize::from(accepted)] += 1;
        if accepted {
            let stated = Thresholds::of(&mutant).expect("a statement");
            let found = stated.answer(models, false, 2.0).result;
            assert_ne!(found, VerifyResult::Sat, "{kind}, mutant {number} of {seed}");
            let is_attained = stated.is_attained(models, seed ^ 5);
            assert!(!is_attained, "{kind}, mutant {number} of {seed}");
        }
    }
}

#[test]
fn no_damaged_proof_about_a_property_hides_a_counterexample() {
    let (_kept, path) = temporary();
    // Few inputs are bisected; of many, the signs of neurons are split.
    for (name, widths, room, split) in [
        ("inputs", [4, 12, 12, 3], 0.004, "\"input\""),
        ("neurons", [130, 8, 8, 3], 0.1, "\"neuron\":["),
    ] {
        let (mut counts, mut split_at) = (Counts::default(), 0);
        for seed in 0..12 {
            random_model(&path, &widths, seed + 300);
            let models = Models::read(&path);
            let Some((proof, attained)) =
                Thresholds::random(&models, room, seed).tight_proof(&models)
            else {
                continue;
            };
            split_at += usize::from(proof["trees"][0]["nodes"].to_string().contains(split));
            mutate_property(&models, (&proof, attained), 120, seed, &mut counts);
            if split_at > 2 && counts.total() > 300 {
                break;
            }
        }
        counts.print(name);
        assert!(split_at > 2, "{name}: {split_at} proofs with splits");
        assert!(counts.total() > 300, "{name}: {:?}", counts.0);
        for kind in ["node dropped", "node doubled"] {
            assert_eq!(counts.accepted(kind), 0, "{name}: {kind}");
        }
    }
}

#[test]
fn three_checkers_accept_proofs_about_properties_of_tiny_networks() {
    let (directory, path) = temporary();
    let file = directory.path().join("proof.json");
    let (mut refused, mut accepted) = (0, 0);
    for (widths, room, seed) in [
        ([3, 6, 6, 3], 0.01, 1),
        ([3, 6, 6, 3], 0.01, 2),
        ([2, 5, 5, 3], 0.02, 3),
        ([129, 4, 4, 3], 0.05, 4),
    ] {
        random_model(&path, &widths, seed + 500);
        let models = Models::read(&path);
        let Some(proof) = Thresholds::random(&models, room, seed).proof(&models) else { continue };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for number in 0..6 {
            let mut mutant = proof.clone();
            mutant["f32"] = json!(false);
            if number > 0 && damage_tree(&mut mutant, &mut rng).is_none() {
                continue;
            }
            let ours = models.check_property(&mutant, true);
            // What holds with roundings holds without.
            assert!(
                ours.is_ok() || models.check_property(&mutant, false).is_err(),
                "{seed} {number}"
            );
            assert!(number > 0 || ours.is_ok(), "{seed}: {ours:?}");
            std::fs::write(&file, mutant.to_string()).expect("writable");
            if let Some(theirs) = python(&path, &file) {
                // The script narrows intervals more often.
                assert!(theirs || ours.is_err(), "{seed} {number}: {mutant}");
            }
            *(if ours.is_ok() { &mut accepted } else { &mut refused }) += 1;
        }
    }
    assert!(refused > 2 && accepted > 2, "{refused} {accepted}");
}

#[test]
fn cases_without_points_need_no_proof_and_rows_are_needed() {
    let (_kept, path) = temporary();
    random_model(&path, &[2, 4, 4, 3], 7);
    let models = Models::read(&path);
    let case = |upper: f64, any_of: Value| json!({"lower": [0.0, 0.0], "upper": [upper, 1.0], "any_of": any_of});
    let proof = |cases: Value, trees: Value| {
        json!({"schema": PROPERTY_SCHEMA, "model_sha256": models.ours.sha256, "property": "p",
            "property_sha256": "", "cases": cases, "f32": true, "trees": trees})
    };
    let holds = |cases, trees| models.check_property(&proof(cases, trees), false).is_ok();
    let (leaf, row) = (json!({"nodes": [{}]}), json!([[{"terms": [[0, 1.0]], "constant": -1e6}]]));
    assert!(holds(json!([]), json!([])), "no case");
    assert!(holds(json!([case(-1.0, row.clone())]), json!([leaf])), "an empty box");
    assert!(!holds(json!([case(1.0, row.clone())]), json!([leaf])), "nothing refutes it");
    assert!(!holds(json!([case(1.0, row.clone())]), json!([])), "no tree");
    let refuted = json!({"nodes": [{"refuted": [{"of": 0}]}]});
    assert!(holds(json!([case(1.0, row)]), json!([refuted])));
    assert!(holds(json!([case(1.0, json!([]))]), json!([leaf])), "nothing is asked for");
    assert!(
        !holds(json!([case(1.0, json!([[]]))]), json!([refuted])),
        "what asks for no row holds"
    );
    let nothing = json!({"nodes": [{"refuted": [{"of": 0, "rows": [[0, 0.0]]}]}]});
    let exactly = |cases, trees| models.check_property(&proof(cases, trees), true).is_ok();
    for strict in [false, true] {
        let row = json!([[{"terms": [], "constant": 0.0, "strict": strict}]]);
        let cases = json!([case(1.0, row)]);
        assert_eq!(exactly(cases.clone(), json!([refuted])), strict, "0 is not positive");
        assert!(!exactly(cases, json!([nothing])), "no row at all refutes nothing");
    }
}

#[test]
fn sums_that_overflow_refute_nothing() {
    let (_kept, path) = temporary();
    let first = Layer { widths: [1, 1], weights: vec![1.0], biases: vec![0.0] };
    let biases = vec![-1.5, -1.5, 1.5, 1.6];
    let second = Layer { widths: [1, 4], weights: vec![1.0, -1.0, 1.0, -1.0], biases };
    write_model(&path, &[first, second], &[Unit::Relu], None);
    let models = Models::read(&path);
    // The sum of the outputs is 0.1 everywhere.
    let row = json!({"terms": [[0, 1.0], [1, 1.0], [2, 1.0], [3, 1.0]], "constant": 0.0});
    for (weight, exact) in [1e308, 1e300, 1.0].into_iter().flat_map(|w| [(w, false), (w, true)]) {
        let proof = json!({"schema": PROPERTY_SCHEMA, "model_sha256": models.ours.sha256, "property": "p",
            "property_sha256": "", "cases": [{"lower": [0.0], "upper": [1.0], "any_of": [[row]]}], "f32": true,
            "trees": [{"nodes": [{"refuted": [{"of": 0, "rows": [[0, weight]]}]}]}]});
        assert!(models.check_property(&proof, exact).is_err(), "{weight} {exact}");
    }
}

#[test]
fn behind_a_softmax_only_the_order_of_outputs_is_known() {
    let (_kept, path) = temporary();
    let first = Layer { widths: [1, 1], weights: vec![1.0], biases: vec![0.0] };
    let second = Layer { widths: [1, 2], weights: vec![1.0, 0.5], biases: vec![-5.0, -8.0] };
    let layers = [first, second];
    let proof = |models: &Models, row: Value| {
        json!({"schema": PROPERTY_SCHEMA, "model_sha256": models.ours.sha256, "property": "p", "property_sha256": "",
            "cases": [{"lower": [0.0], "upper": [1.0], "any_of": [[row]]}], "f32": true,
            "trees": [{"nodes": [{"refuted": [{"of": 0}]}]}]})
    };
    let value = json!({"terms": [[0, 1.0]], "constant": -0.1});
    let order = json!({"terms": [[1, 1.0], [0, -1.0]], "constant": 0.0});
    for (last_op, holds) in [(None, [true, true]), (Some("Softmax"), [false, true])] {
        write_model(&path, &layers, &[Unit::Relu], last_op);
        let theirs = Model::read(&path).expect("the checker reads it");
        let models = Models { ours: OnnxModel::load(&path).expect("loads"), theirs };
        let found =
            [&value, &order].map(|row| models.check_property(&proof(&models, row.clone()), false));
        assert_eq!(found.each_ref().map(Result::is_ok), holds, "{last_op:?}: {found:?}");
    }
}
