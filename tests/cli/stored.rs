//! What is in the result directory.

use std::fs;
use std::path::Path;

use rw_adv::data::{DataSource, Dataset};
use rw_adv::onnx::OnnxModel;
use rw_adv::sets::Norm;

use crate::common::{
    FIXTURE, directory, json_lines, mistake, number, read, read_json, sorted_records, stdout, typed,
};
use crate::{count, numbers, records};

#[test]
fn results_go_to_the_directory_and_are_never_overwritten() {
    let directory = directory();
    let out = directory.path().join("out");
    let out = typed(&out);
    let arguments = ["--model", FIXTURE, "--images", "3,7,9", "--delta", "2.5", "--out", out];
    let text = stdout(&arguments);
    // A head, three records, three lines of summary.
    assert_eq!(text.lines().count(), 7, "{text}");
    let stored = read(&Path::new(out).join("results.jsonl"));
    let mut images = numbers(&json_lines(&stored), "image");
    images.sort_unstable();
    assert_eq!(images, [3, 7, 9]);
    let summary = read_json(&Path::new(out).join("summary.json"));
    assert_eq!(summary["summary"]["records"], 3);
    assert_eq!(summary["settings"]["delta"], 2.5);
    mistake(&arguments, &[out, "holds results already"]);
}

#[test]
fn the_problem_of_one_image_and_target_is_written_for_other_solvers() {
    let directory = directory();
    let path = directory.path().join("one.lp");
    let file = typed(&path);
    let one = ["--images", "3,", "--delta", "2", "--write-model", file];
    let one: Vec<&str> = ["--model", FIXTURE].into_iter().chain(one).collect();
    stdout(&one);
    let text = read(&path);
    for word in ["maximize", "up_", "down_", "h_1_", "z_1_", "general", "1.0 <= one <= 1.0"] {
        assert!(text.to_lowercase().contains(word), "{word}");
    }
    mistake(&[&one[..], &["--target", "all"]].concat(), &["--write-model", "one target, 9"]);
    let two = ["--model", FIXTURE, "--images", "2", "--delta", "2", "--write-model", file];
    mistake(&two, &["--write-model", "one image, 2"]);
}

/// Every adversary as it is on disk: inside the box, strictly inside the ball, and fooling the file.
#[test]
fn stored_adversaries_are_what_their_records_say() {
    let model = OnnxModel::load(FIXTURE.as_ref()).expect("the fixture loads");
    let open = |path: &Path| {
        let source = DataSource { path: path.to_owned(), ..DataSource::default() };
        Dataset::open(&source, &model.input_dims).expect("readable")
    };
    let widened = |x: &[f32]| -> Vec<f64> { x.iter().copied().map(f64::from).collect() };
    let originals = open("data".as_ref());
    for (norm, name, delta) in
        [(Norm::L1, "l1", "5"), (Norm::L1, "l1", "2.3"), (Norm::Linf, "linf", "0.05")]
    {
        let directory = directory();
        let out = directory.path().join("out");
        let arguments = ["--images", "12", "--norm", name, "--delta", delta, "--pictures", "all"];
        let records = records(&[&arguments[..], &["--out", typed(&out)]].concat());
        assert!(count(&records, "verdict", "adversarial") > 0, "{name} {delta}");
        let delta: f64 = delta.parse().expect("a number");
        for record in &records {
            assert_eq!(record["norm"], name);
            let adversarial = record["verdict"] == "adversarial";
            assert_eq!(record["npy"].is_string(), adversarial);
            assert_eq!(record["png"].is_string(), adversarial);
            let field = |field: &str| number(record, field);
            assert_eq!(field("margin") > 0.0, adversarial);
            if !adversarial {
                continue;
            }
            let index = field("image") as usize;
            let original = originals.sample(index).expect("readable").pixels;
            let stored = |field: &str| {
                let path = out.join(record[field].as_str().expect("a path"));
                open(&path).sample(0).expect("readable").pixels
            };
            let margin_at = |x: &[f32]| {
                let logits = model.replay.logits(x).expect("tract runs");
                let of = |label: &str| f64::from(logits[field(label) as usize]);
                of("target") - of("predicted")
            };
            let (point, picture) = (stored("npy"), stored("png"));
            for x in [&point, &picture] {
                assert!(x.iter().all(|value| (0.0..=1.0).contains(value)));
                assert!(norm.distance(&widened(x), &widened(&original)) < delta);
            }
            let distance = norm.distance(&widened(&point), &widened(&original));
            assert!((distance - field("distance")).abs() < 1e-12);
            let changed = point.iter().zip(&original).filter(|(x, o)| x != o).count();
            assert_eq!(changed, field("changed_pixels") as usize);
            assert!(margin_at(&point) > 0.0);
            assert!((margin_at(&point) - field("margin_f32")).abs() < 1e-12);
            assert!((margin_at(&picture) - field("margin_png")).abs() < 1e-12);
            let stem = format!("{index}_c{}_w{}", record["predicted"], record["target"]);
            let strip = out.join(format!("adversarial/{stem}_strip.png"));
            assert_strip(&strip, &original, &picture);
        }
        let stored = fs::read_dir(out.join("adversarial")).expect("readable").count();
        assert_eq!(stored, 3 * count(&records, "verdict", "adversarial"));
        assert_eq!(sorted_records(&read(&out.join("results.jsonl"))), records);
    }
}

/// A strip of digits: words, then the image, the adversary and what was changed, each pixel eight times as large.
fn assert_strip(path: &Path, original: &[f32], picture: &[f32]) {
    const SCALE: usize = 8;
    const GAP: usize = 4;
    let strip = image::open(path).expect("a picture").to_rgb8();
    let step = 28 * SCALE + GAP;
    let top = strip.height() as usize - (step + GAP);
    assert_eq!(strip.width() as usize, 3 * step + GAP);
    let words = strip.rows().take(top).flatten().filter(|pixel| pixel.0[0] < 100).count();
    assert!(words > 50, "{words} dark pixels");
    for (place, (before, after)) in original.iter().zip(picture).enumerate() {
        let (row, column) = (place / 28, place % 28);
        let at = |panel: usize| {
            let (x, y) = (GAP + panel * step + column * SCALE + 3, top + GAP + row * SCALE + 5);
            strip.get_pixel(x as u32, y as u32).0
        };
        let grey = |value: f32| [(255.0 * value).round() as u8; 3];
        assert_eq!((at(0), at(1)), (grey(*before), grey(*after)), "{place}");
        let [red, _, blue] = at(2);
        let (before, after) = (grey(*before)[0], grey(*after)[0]);
        assert_eq!(red.cmp(&blue), after.cmp(&before), "{place}");
    }
}

#[test]
fn radii_go_to_a_directory_of_their_own() {
    let directory = directory();
    let out = directory.path().join("out");
    let path = typed(&out);
    let run = ["radius", "--model", FIXTURE, "--images", "2", "--out", path];
    stdout(&run);
    let records = json_lines(&read(&out.join("radii.jsonl")));
    assert_eq!(records.len(), 2);
    let source = |path: &Path| DataSource { path: path.to_owned(), ..DataSource::default() };
    for record in &records {
        let image = Dataset::open(&source(Path::new("data")), &[784]).expect("there");
        let image = image.sample(record["image"].as_u64().expect("a number") as usize);
        let stored = out.join(record["npy"].as_str().expect("a file"));
        let stored = Dataset::open(&source(&stored), &[784]).expect("there").sample(0);
        let [image, stored] = [image, stored].map(|sample| sample.expect("readable").widened());
        assert_eq!(record["attack_radius"], Norm::L1.distance(&image, &stored));
        assert!(out.join(record["png"].as_str().expect("a file")).exists());
    }
    let summary = read_json(&out.join("summary.json"));
    assert_eq!(summary["schema"], "rw-adv/radius/1");
    assert_eq!(
        (&summary["summary"]["records"], &summary["settings"]["max_delta"]),
        (&2.into(), &784.0.into())
    );
    mistake(&run, &["holds results already"]);
    mistake(&["--model", FIXTURE, "--delta", "5", "--out", path], &["holds results already"]);
}

/// The records are the same, the report is there, and only the pictures that were asked for are.
#[test]
fn only_the_pictures_that_are_asked_for_are_written() {
    let directory = directory();
    let of = |pictures: &str| {
        let out = directory.path().join(pictures);
        let asked = ["--model", FIXTURE, "--images", "6", "--delta", "5", "--out", typed(&out)];
        stdout(&[&asked[..], &["--pictures", pictures]].concat());
        let records = sorted_records(&read(&out.join("results.jsonl")));
        assert!(read(&out.join("report.html")).contains("</html>"));
        let names = fs::read_dir(out.join("adversarial")).expect("readable");
        let names = names.map(|entry| entry.expect("readable").file_name());
        let ends = |end: &str| {
            let names = names_of(&out);
            names.iter().filter(|name| name.ends_with(end)).count()
        };
        assert_eq!(names.count(), ends(".npy") + ends(".png"));
        (records, ends(".npy"), ends(".png"))
    };
    let (all, arrays, pictures) = of("all");
    let adversaries = count(&all, "verdict", "adversarial");
    assert_eq!((arrays, pictures), (adversaries, 2 * adversaries));
    let (fewer, arrays, pictures) = of("adversaries");
    assert_eq!((arrays, pictures), (adversaries, adversaries));
    assert_eq!(numbers(&fewer, "image"), numbers(&all, "image"));
    let (none, arrays, pictures) = of("none");
    assert_eq!((arrays, pictures), (adversaries, 0));
    for (record, same) in none.iter().zip(&all) {
        assert!(record["png"].is_null());
        assert_eq!(
            (&record["margin"], &record["margin_png"]),
            (&same["margin"], &same["margin_png"])
        );
    }
    let asked = ["--model", FIXTURE, "--images", "1", "--delta", "5", "--pictures", "some"];
    mistake(&asked, &["--pictures", "none, adversaries, all"]);
}

fn names_of(out: &Path) -> Vec<String> {
    let entries = fs::read_dir(out.join("adversarial")).expect("readable");
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
    entries.map(|entry| name(entry.expect("readable"))).collect()
}
