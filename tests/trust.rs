//! What an attacker found, one test per defect, named after it.

mod common;
#[path = "common/onnx_file.rs"]
mod onnx_file;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rw_adv::bounds::{Arithmetic, LinearBounds, UpperRelaxation};
use rw_adv::budget::Budget;
use rw_adv::onnx::OnnxModel;
use rw_adv::sets::{InputSet, Norm, PixelRange};
use serde_json::Value;
use tempfile::TempDir;

use common::{
    FIXTURE, LARGE, directory, ends_with, file, json_lines, number, read, read_json, refused,
    rw_adv, stdout, succeeds, text, typed,
};
use onnx_file::{Attribute, OnnxFile};

/// A model and images in a directory of their own.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { directory: directory() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn model(&self, file: &OnnxFile, input: &[i64]) -> String {
        let path = self.path("model.onnx");
        fs::write(&path, file.bytes(input)).expect("written");
        typed(&path).to_owned()
    }

    /// One image of these values.
    fn image(&self, values: &[f32]) -> String {
        self.images(&[values])
    }

    /// Images of these values.
    fn images(&self, images: &[&[f32]]) -> String {
        let path = self.path("image.npy");
        let shape = format!("({}, {})", images.len(), images[0].len());
        let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(images.concat().iter().flat_map(|v| v.to_le_bytes()));
        fs::write(&path, bytes).expect("written");
        typed(&path).to_owned()
    }
}

/// The only record of an attack on one image.
fn attacked(model: &str, image: &str, delta: &str) -> Value {
    let asked = ["--model", model, "--data", image, "--images", "1", "--delta", delta, "--json"];
    json_lines(&stdout(&asked)).remove(0)
}

/// `x -> (relu(factors[..] · Σ x + shift), 0) + bias`: one product after the other.
fn chain(
    inputs: usize,
    first: f32,
    shift: Option<f32>,
    factors: &[f32],
    bias: [f32; 2],
) -> OnnxFile {
    let mut model = OnnxFile::new();
    model.floats("W", &[inputs as i64, 1], &vec![first; inputs]).node("MatMul", &["x", "W"], "s");
    let mut at = "s".to_owned();
    if let Some(shift) = shift {
        model.floats("c", &[1], &[shift]).node("Add", &["s", "c"], "t");
        at = "t".to_owned();
    }
    for (k, &factor) in factors.iter().enumerate() {
        let (weight, next) = (format!("F{k}"), format!("p{k}"));
        model.floats(&weight, &[1, 1], &[factor]).node("MatMul", &[&at, &weight], &next);
        at = next;
    }
    model.node("Relu", &[&at], "h");
    model.floats("U", &[1, 2], &[1.0, 0.0]).floats("b", &[2], &bias);
    model.node("Gemm", &["h", "U", "b"], "y");
    model
}

/// `(Σx · 6.8e36) · 1e-37`: at distance 0.4 the first product is infinite, and the label flips.
#[test]
fn a_product_that_overflows_f32_on_the_way_is_not_robust() {
    let place = Place::new();
    let model = place.model(&chain(60, 6.8e36, None, &[1e-37], [0.0, 34.5]), &[1, 60]);
    let record = attacked(&model, &place.image(&[49.75 / 60.0; 60]), "0.5");
    assert_ne!(record["verdict"], "robust", "{record}");
    // As a function it is.
    assert!(number(&record, "upper_bound") < 0.0, "{record}");
}

/// `(Σx − 50) · 2.4e-38 · 4e37`: the middle product is subnormal, and tract takes it for 0.
#[test]
fn a_product_that_underflows_f32_on_the_way_is_not_robust() {
    let place = Place::new();
    let file = chain(60, 1.0, Some(-50.0), &[2.4e-38, 4e37], [0.0, 0.1]);
    let model = place.model(&file, &[1, 60]);
    let record = attacked(&model, &place.image(&[50.55 / 60.0; 60]), "0.1");
    assert_ne!(record["verdict"], "robust", "{record}");
}

/// A pixel of 1.3e-38 and a weight of 5e37: the run ended with "contradicts the certified upper bound".
#[test]
fn a_subnormal_pixel_times_a_large_weight_contradicts_no_bound() {
    let place = Place::new();
    let mut file = OnnxFile::new();
    file.floats("W", &[2, 2], &[5e37, 0.0, 0.0, 1.0]).floats("c", &[2], &[0.0; 2]);
    file.floats("U", &[2, 2], &[1.0, 0.0, 0.0, 1.0]).floats("b", &[2], &[0.0, 0.3]);
    file.node("Gemm", &["x", "W", "c"], "t").node("Relu", &["t"], "h");
    file.node("Gemm", &["h", "U", "b"], "y");
    let (model, image) = (place.model(&file, &[1, 2]), place.image(&[1.3e-38, 0.1]));
    for delta in ["1e-39", "2e-39", "5e-39"] {
        assert_ne!(attacked(&model, &image, delta)["verdict"], "robust");
    }
}

/// It was classified, and called robust; then it ended the whole run. Now it has a record that says why there is no answer, which
/// counts as not certified, and the run goes on.
#[test]
fn an_image_with_infinite_logits_has_an_error_record() {
    let place = Place::new();
    let model = place.model(&chain(60, 6.8e36, None, &[1e-37], [0.0, 34.5]), &[1, 60]);
    // In the middle of three: the first product is infinite for the second one.
    let image = place.images(&[&[0.1; 60], &[1.0; 60], &[0.2; 60]]);
    let (out, junit) = (place.path("out"), place.path("junit.xml"));
    let common = ["--model", &model, "--data", &image, "--images", "3"];
    let attack = [&common[..], &["--delta", "0.01", "--out", typed(&out)]].concat();
    let guarded = [&attack[..], &["--fail-under", "1", "--junit", typed(&junit)]].concat();
    let run = ends_with(1, rw_adv(&guarded));
    let (table, said) = (text(run.stdout), text(run.stderr));
    assert!(table.contains("error: the file, run in float32, gives inf for label"), "{table}");
    assert!(table.contains("1 images without an answer"), "{table}");
    // The others get no claim for f32, since products may overflow near them.
    assert!(said.contains("0.00 % (0 of 3 images)"), "{said}");
    assert!(read(&junit).contains(r#"tests="3" failures="0" errors="1""#), "{}", read(&junit));

    // Nothing is left to do, and the report and the summary have it, too.
    succeeds(rw_adv(&[&attack[..], &["--resume", "--json"]].concat()));
    let records = json_lines(&read(&out.join("results.jsonl")));
    assert_eq!(records.len(), 3, "one each, once: {records:?}");
    let of_image = |image: u64| records.iter().find(|line| line["image"] == image).expect("there");
    assert_eq!(of_image(1)["verdict"], "unknown");
    assert_eq!((&of_image(1)["margin"], &of_image(1)["stop"]), (&Value::Null, &"error".into()));
    assert!(of_image(1)["error"].as_str().expect("text").contains("float32"));
    assert!(
        [0, 2]
            .iter()
            .all(|&k| of_image(k).get("error").is_none() && !of_image(k)["margin"].is_null())
    );
    assert_eq!(read_json(&out.join("summary.json"))["summary"]["images"]["errors"], 1);
    assert!(read(&out.join("report.html")).contains("gives inf for label"));

    let radii = stdout(&[&["radius"], &common[..], &["--max-delta", "0.01", "--json"]].concat());
    let errors = radii.lines().filter(|line| line.contains(r#""error":"the file"#)).count();
    assert_eq!((radii.lines().count(), errors), (3, 1), "{radii}");
}

/// The same in shards, which are merged.
#[test]
fn error_records_are_merged() {
    let place = Place::new();
    let model = place.model(&chain(60, 6.8e36, None, &[1e-37], [0.0, 34.5]), &[1, 60]);
    let image = place.images(&[&[1.0; 60], &[0.1; 60]]);
    let out = place.path("shards");
    for shard in ["1/2", "2/2"] {
        let asked = ["--model", &model, "--data", &image, "--images", "2", "--delta", "0.01"];
        succeeds(rw_adv(&[&asked[..], &["--out", typed(&out), "--shard", shard]].concat()));
    }
    succeeds(rw_adv(&["merge", typed(&out)]));
    let records = read(&out.join("results.jsonl"));
    assert_eq!(records.matches(r#""error":"#).count(), 1, "{records}");
}

/// Two matrices of numbers around 2^20, each the inverse of the other, twice: in f64 what they leave was lost.
#[test]
fn matrices_that_cancel_are_folded_exactly() {
    let place = Place::new();
    let large = 2f32.powi(20);
    let mut file = OnnxFile::new();
    file.floats("W", &[2, 2], &[large, large - 1.0, large + 1.0, large]);
    file.floats("V", &[2, 2], &[large, 1.0 - large, -1.0 - large, large]);
    for (k, (from, to)) in [("x", "a"), ("a", "b"), ("b", "c"), ("c", "t")].into_iter().enumerate()
    {
        file.node("MatMul", &[from, if k % 2 == 0 { "W" } else { "V" }], to);
    }
    file.floats("U", &[2, 2], &[1.0, 0.0, 0.0, 1.0]).floats("d", &[2], &[0.0, 0.05]);
    file.node("Relu", &["t"], "h").node("Gemm", &["h", "U", "d"], "y");
    let model = OnnxModel::load(place.model(&file, &[1, 2]).as_ref()).expect("loads");
    let map = model.network.affine(0);
    let weights = [0, 1].map(|i| [0, 1].map(|j| map.weight(i, j)));
    assert_eq!(weights, [[1.0, 0.0], [0.0, 1.0]]);
    // The bound covers what is left of the folding's error, and f32 gets no claim.
    let set = InputSet::ball(Norm::L1, &[0.5, 0.5], 0.02, PixelRange::UNIT);
    let bound = |arithmetic| {
        let budget = Budget::unlimited();
        let above = UpperRelaxation::Envelopes;
        let bounds = LinearBounds::new(&model.network, &set, above, arithmetic, &budget);
        bounds.prove(&[-1.0, 1.0], &Default::default(), &budget).bound.value()
    };
    let exact = bound(Arithmetic::Exact);
    assert!((0.07..0.071).contains(&exact), "{exact}");
    assert!(bound(Arithmetic::F32) > 1.0);
}

/// tract rounds their constants to f32, which put bounds up to 3.7e-9 below values that the file's function attains.
#[test]
fn batch_normalization_and_gemm_are_taken_from_the_file() {
    let place = Place::new();
    let (scale, bias, mean, variance) = (0.3_f32, 0.1_f32, 0.7_f32, 0.9_f32);
    let (alpha, beta, c) = (0.1_f32, 0.3_f32, 0.7_f32);
    let mut file = OnnxFile::new();
    for (name, value) in [("s", scale), ("o", bias), ("m", mean), ("v", variance)] {
        file.floats(name, &[1], &[value]);
    }
    file.node_with(
        "BatchNormalization",
        &["x", "s", "o", "m", "v"],
        "t",
        &[Attribute::Float("epsilon", 1e-5)],
    );
    file.floats("U", &[1, 2], &[1.0, -1.0]).floats("c", &[2], &[c, 0.0]).node("Relu", &["t"], "h");
    let weights = [Attribute::Float("alpha", alpha), Attribute::Float("beta", beta)];
    file.node_with("Gemm", &["h", "U", "c"], "y", &weights);
    let model = OnnxModel::load(place.model(&file, &[1, 1]).as_ref()).expect("loads");
    let wide = f64::from;
    let deviation = (wide(variance) + wide(1e-5_f32)).sqrt();
    for x in [0.9, 1.0, 0.95] {
        let h = (wide(scale) * (x - wide(mean)) / deviation + wide(bias)).max(0.0);
        let expected = [wide(alpha) * h + wide(beta) * wide(c), -wide(alpha) * h];
        for (found, expected) in model.network.logits(&[x]).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15, "{found} instead of {expected}");
        }
    }
}

/// Killed after some records, or before the first: the exit code was 0.
#[test]
fn a_guard_does_not_pass_a_run_that_is_not_whole() {
    let place = Place::new();
    let (out, cases) = (place.path("out"), place.path("cases.xml"));
    let asked = ["--model", FIXTURE, "--images", "5", "--delta", "0.01", "--goal", "verdict"];
    succeeds(rw_adv(&[&asked[..], &["--out", typed(&out)]].concat()));
    let guard = || rw_adv(&["report", typed(&out), "--fail-under", "0"]);
    ends_with(0, guard());
    let results = out.join("results.jsonl");
    let whole = read(&results);
    let half: String = whole.split_inclusive('\n').take(2).collect();
    for (left, missing) in [(half.as_str(), "3 records"), ("", "5 records")] {
        fs::write(&results, left).expect("written");
        let said = text(ends_with(3, guard()).stderr);
        assert!(said.contains(missing) && said.contains("missing"), "{said}");
        ends_with(3, rw_adv(&["report", typed(&out), "--junit", typed(&cases)]));
        let xml = read(&cases);
        let errors = format!(r#"tests="5" failures="0" errors="{}""#, &missing[..1]);
        assert!(xml.contains(&errors), "{xml}");
        ends_with(0, rw_adv(&["report", typed(&out)]));
    }
    fs::write(&results, &whole).expect("written");
    fs::remove_file(out.join("manifest.json")).expect("removed");
    let said = text(ends_with(3, guard()).stderr);
    assert!(said.contains("manifest.json"), "{said}");
}

/// Shards with other weights beside the same `.onnx` were merged.
#[test]
fn weights_in_another_file_are_part_of_the_model() {
    let place = Place::new();
    let mut file = OnnxFile::new();
    file.external("W", &[2, 2], "weights.bin");
    file.floats("U", &[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    file.node("MatMul", &["x", "W"], "t").node("Relu", &["t"], "h").node(
        "MatMul",
        &["h", "U"],
        "y",
    );
    let model = place.model(&file, &[1, 2]);
    let image = place.image(&[0.5, 0.25]);
    let out = place.path("out");
    let shard = |which: &str| {
        let asked = ["--model", &model, "--data", &image, "--images", "1", "--delta", "0.1"];
        rw_adv(&[&asked[..], &["--out", typed(&out), "--shard", which]].concat())
    };
    let weights = |numbers: [f32; 4]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
        fs::write(place.path("weights.bin"), bytes).expect("written");
        OnnxModel::load(model.as_ref()).expect("loads").sha256
    };
    let first = weights([1.0, 0.0, 0.0, 1.0]);
    succeeds(shard("1/2"));
    assert_ne!(first, weights([1.0, 0.0, 0.0, 2.0]));
    refused(shard("2/2"), &["another model"]);
    assert_eq!(first, weights([1.0, 0.0, 0.0, 1.0]));
    succeeds(shard("2/2"));
}

/// A model whose constant, of the operator under test, is added to the input.
fn with_constant(prepare: impl Fn(&mut OnnxFile)) -> OnnxFile {
    let mut file = OnnxFile::new();
    prepare(&mut file);
    file.node_with("ReduceMean", &["r"], "m", &[Attribute::Int("keepdims", 0)]);
    file.node_with("Cast", &["m"], "f", &[Attribute::Int("to", 1)]).node("Add", &["x", "f"], "z");
    file.floats("W", &[2, 2], &[1.0, 0.0, 0.0, 1.0]).node("MatMul", &["z", "W"], "t");
    file.node("Relu", &["t"], "h").node("MatMul", &["h", "W"], "y");
    file
}

/// A file of a few hundred bytes asked for gigabytes.
#[test]
fn constants_that_would_fill_the_memory_are_refused_before_they_are_made() {
    const MANY: i64 = 800_000_000;
    type Bomb = (&'static str, fn(&mut OnnxFile));
    let bombs: [Bomb; 9] = [
        ("Range", |file| {
            file.ints("a", &[], &[0]).ints("b", &[], &[MANY]).ints("c", &[], &[1]);
            file.node("Range", &["a", "b", "c"], "r");
        }),
        ("ConstantOfShape", |file| {
            file.ints("s", &[1], &[MANY]).node("ConstantOfShape", &["s"], "r");
        }),
        ("Expand", |file| {
            file.floats("o", &[1], &[1.0]).ints("s", &[1], &[MANY]).node(
                "Expand",
                &["o", "s"],
                "r",
            );
        }),
        ("Tile", |file| {
            file.floats("o", &[1], &[1.0]).ints("s", &[1], &[MANY]).node("Tile", &["o", "s"], "r");
        }),
        ("Pad", |file| {
            file.floats("o", &[1], &[1.0]).ints("s", &[2], &[0, MANY]);
            file.node("Pad", &["o", "s"], "r");
        }),
        ("OneHot", |file| {
            file.ints("i", &[1], &[0]).ints("d", &[], &[MANY]).floats("v", &[2], &[0.0, 1.0]);
            file.node("OneHot", &["i", "d", "v"], "r");
        }),
        ("Resize", |file| {
            file.floats("o", &[1], &[1.0]).ints("s", &[1], &[MANY]);
            file.node("Resize", &["o", "", "", "s"], "r");
        }),
        ("Add", |file| {
            file.floats("o", &[40_000, 1], &vec![1.0; 40_000]);
            file.floats("s", &[1, 40_000], &vec![1.0; 40_000]).node("Add", &["o", "s"], "r");
        }),
        ("MatMul", |file| {
            file.floats("o", &[40_000, 1], &vec![1.0; 40_000]);
            file.floats("s", &[1, 40_000], &vec![1.0; 40_000]).node("MatMul", &["o", "s"], "r");
        }),
    ];
    for (op, bomb) in bombs {
        let place = Place::new();
        let model = place.model(&with_constant(bomb), &[1, 2]);
        refused(rw_adv(&["inspect", &model, "--max-memory", "600M"]), &[op]);
    }
    // What is small is made.
    let place = Place::new();
    let small = with_constant(|file| {
        file.ints("s", &[1], &[8]).node("ConstantOfShape", &["s"], "r");
    });
    succeeds(rw_adv(&["inspect", &place.model(&small, &[1, 2])]));
}

/// It took 28 s, most of it in an optimisation that is quadratic in the number of nodes.
#[test]
fn a_chain_of_four_thousand_additions_loads() {
    let place = Place::new();
    let mut file = OnnxFile::new();
    file.floats("one", &[1], &[1e-4]);
    let names: Vec<String> = (0..=4000).map(|i| format!("a{i}")).collect();
    file.node("Identity", &["x"], &names[0]);
    for pair in names.windows(2) {
        file.node("Add", &[&pair[0], "one"], &pair[1]);
    }
    file.floats("W", &[2, 2], &[1.0, 0.0, 0.0, 1.0]).node("MatMul", &["a4000", "W"], "t");
    file.node("Relu", &["t"], "h").node("MatMul", &["h", "W"], "y");
    let begun = Instant::now();
    succeeds(rw_adv(&["inspect", &place.model(&file, &[1, 2])]));
    // On an idle machine two seconds.
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
}

/// It was not pursued, and the record said `stop: optimal, optimal: false`.
#[test]
fn a_gap_below_a_millionth_is_pursued_or_owned_up_to() {
    let asked = ["--model", FIXTURE, "--images", "6", "--delta", "2", "--branch", "--json"];
    for gap in ["1e-4", "1e-9", "1e-12"] {
        for record in json_lines(&stdout(&[&asked[..], &["--gap", gap]].concat())) {
            let closed = number(&record, "gap") <= gap.parse().expect("a number");
            assert_eq!(record["optimal"], closed, "{record}");
            assert!(record["stop"] != "optimal" || closed, "{record}");
        }
    }
}

/// `branch = true` was refused: the option takes a number, but need not have one.
#[test]
fn an_option_with_an_optional_value_may_be_true_in_a_file() {
    let (_directory, config) = file("options.toml", "branch = true\njson = true\n");
    let asked = ["--model", FIXTURE, "--images", "1", "--delta", "0.01", "--config", &config];
    assert_eq!(json_lines(&stdout(&asked)).len(), 1);
    let (_directory, config) = file("options.toml", "branch = false\n");
    succeeds(rw_adv(&[
        "--model", FIXTURE, "--images", "1", "--delta", "0.01", "--config", &config,
    ]));
}

/// A killed run left them for ever.
#[test]
fn what_a_killed_run_left_of_a_proof_is_removed() {
    let place = Place::new();
    let (out, proofs) = (place.path("out"), place.path("proofs"));
    let asked = ["--model", FIXTURE, "--images", "2", "--delta", "0.1"];
    let kept = ["--out", typed(&out), "--proof", typed(&proofs)];
    succeeds(rw_adv(&[&asked[..], &kept].concat()));
    let torn = proofs.join("0_c7_w9.0123456789abcdef.partial");
    fs::write(&torn, "{\"schema\"").expect("written");
    succeeds(rw_adv(&[&asked[..], &kept, &["--resume"]].concat()));
    assert!(!torn.exists());
    assert!(fs::read_dir(&proofs).expect("a folder").count() > 0);
}

/// Out of memory the exit code was 134.
#[cfg(unix)]
#[test]
fn without_memory_the_exit_code_is_2() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v 150000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_rw-adv")]);
    shell.current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("RUST_BACKTRACE");
    let asked = ["--model", "models/mnist_2x500.onnx", "--images", "20", "--delta", "5"];
    shell.args(asked).args(["--threads", "2"]);
    ends_with(2, shell);
    for limit in ["110M", "120M", "140M"] {
        let limited = [&asked[..], &["--threads", "2", "--max-memory", limit]].concat();
        ends_with(2, rw_adv(&limited));
    }
}

/// A proof for a tiny budget was printed as "holds: image 4 … robust".
#[test]
fn a_proof_is_told_with_all_that_it_is_about() {
    let place = Place::new();
    let proofs = place.path("proofs");
    let asked = ["--model", FIXTURE, "--images", "4,", "--delta", "0.001", "--proof"];
    succeeds(rw_adv(&[&asked[..], &[typed(&proofs)]].concat()));
    let check = |more: &[&str]| {
        rw_adv(&[&["check-proof", "--model", FIXTURE, typed(&proofs)][..], more].concat())
    };
    let said = succeeds(check(&[]));
    let sha256 = OnnxModel::load(FIXTURE.as_ref()).expect("loads").sha256;
    let words =
        [sha256.as_str(), "distance 0.001", "l1", "0 <= x <= 1", "float32", "SHA-256", "--data"];
    for word in words {
        assert!(said.contains(word), "{word}: {said}");
    }
    succeeds(check(&["--data", "data", "--expect", "delta=0.001", "--expect", "verdict=robust"]));
    for wrong in ["delta=5", "norm=linf", "target=77", "model=00", "verdict=bound"] {
        let said = text(ends_with(1, check(&["--expect", wrong])).stdout);
        assert!(said.contains("DOES NOT HOLD") && said.contains("is expected"), "{said}");
    }
    refused(check(&["--expect", "colour=red"]), &["colour"]);
    // Another image under the same number.
    let file = only_file(&proofs);
    let mut proof = read_json(&file);
    proof["image"] = Value::from(5);
    fs::write(&file, proof.to_string()).expect("written");
    succeeds(check(&[]));
    let said = text(ends_with(1, check(&["--data", "data"])).stdout);
    assert!(said.contains("is not image 5 of the data"), "{said}");
}

fn only_file(folder: &Path) -> PathBuf {
    let mut files = fs::read_dir(folder).expect("a folder");
    files.next().expect("a file").expect("readable").path()
}

/// A record whose f32 margin overflowed could not be read again.
#[test]
fn a_margin_that_is_not_a_number_does_not_damage_the_records() {
    let place = Place::new();
    let model = place.model(&chain(60, 6.8e36, None, &[1e-37], [0.0, 34.5]), &[1, 60]);
    let (image, out) = (place.image(&[49.75 / 60.0; 60]), place.path("out"));
    let asked = ["--model", &model, "--data", &image, "--images", "1", "--delta", "0.5"];
    succeeds(rw_adv(&[&asked[..], &["--out", typed(&out)]].concat()));
    succeeds(rw_adv(&["report", typed(&out)]));
    succeeds(rw_adv(&[&asked[..], &["--out", typed(&out), "--resume"]].concat()));
}

/// State of a process, and the time that it was on processors so far, in hundredths of a second.
#[cfg(target_os = "linux")]
fn process(id: u32) -> (char, u64) {
    let stat =
        fs::read_to_string(format!("/proc/{id}/stat")).expect("a process that nobody waited for");
    let (_, fields) = stat.rsplit_once(") ").expect("its name is in brackets");
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks = |k: usize| fields[k].parse::<u64>().expect("a number");
    (fields[0].chars().next().expect("a state"), ticks(11) + ticks(12))
}

/// Two minutes were seen inside one LP. The time of processors is measured: the machine may do something else, too. (Inside a MILP only
/// the second signal ends the program at once: HiGHS does not ask while it solves the relaxation.)
#[cfg(target_os = "linux")]
#[test]
fn signals_are_obeyed_within_a_second_inside_an_lp() {
    for signal in ["-INT", "-TERM"] {
        let asked =
            ["--model", LARGE, "--images", "1", "--delta", "20", "--threads", "1", "--json"];
        let mut command = rw_adv(&[&asked[..], &["--method", "paper"]].concat());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        // Reading the model and bounding the neurons takes a part of this.
        while process(child.id()).1 < 150 {
            assert_ne!(process(child.id()).0, 'Z', "it is finished: it should be harder");
            std::thread::sleep(Duration::from_millis(50));
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("runs").success());
        let before = process(child.id()).1;
        let took = || process(child.id()).1 - before;
        while process(child.id()).0 != 'Z' && took() <= 100 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let took = took();
        child.kill().expect("is there until it is waited for");
        assert_eq!(child.wait().expect("ends").code(), Some(130), "{signal}: {took} hundredths");
    }
}
