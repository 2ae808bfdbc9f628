use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::DeflateDecoder;

use super::*;
use crate::record::{AttackRecord, PictureSize, Sketch, Sketches, Verdict, json};

const MEGABYTE: usize = 1_000_000;

/// Numbers of all kinds without a generator.
fn noise(seed: usize) -> impl Iterator<Item = u8> {
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
}

fn row(image: usize, target: usize, more: &str) -> AttackRecord {
    let verdict = Verdict::ALL[(image + target) % 3];
    // As a real record, with as many digits.
    let text = format!(
        r#"{{"schema":"rw-adv/1","image":{image},"label":{},"predicted":{},"target":{target},"delta":5.0,"norm":"l1",
        "verdict":"{verdict}","margin":{},"margin_f32":{},"margin_png":null,"upper_bound":{},"gap":{},
        "bound_method":"envelope","optimal":false,"claimed_bound":null,"distance":4.99999988079071,
        "changed_pixels":{},"starts":41,"regions":{},"lps":{},"iterations":{},"nodes":0,"depth":0,"open_nodes":0,
        "seconds":0.{image}4711,"seconds_to_best":0.{image}0815,"stop":"no_gain","seed":{},
        "png":null,"npy":{}{more}}}"#,
        image % 10,
        image % 10,
        (image as f64).sin(),
        (image as f64).sin() as f32,
        (image as f64).sin() + 1.0 / 3.0,
        1.0 / 3.0,
        image % 13,
        image * 7,
        image * 31,
        image * 171,
        u64::MAX - image as u64,
        match verdict {
            Verdict::Adversarial => format!(r#""adversarial/{image}_c1_w{target}.npy""#),
            _ => "null".to_owned(),
        },
    );
    json::parse(text.as_bytes()).expect("a record")
}

/// What a sketch is once it was read; changes are given as steps.
fn sketch(steps: &[u8], curve: &[(f64, f64)]) -> Sketch {
    let text = format!(
        r#"{{"changes":"{}","curve":{}}}"#,
        BASE64.encode(steps),
        serde_json::to_string(curve).expect("numbers")
    );
    json::parse(text.as_bytes()).expect("a sketch")
}

fn stored(records: Vec<AttackRecord>, sketches: Sketches) -> StoredRun {
    let summary = r#"{"schema":"rw-adv/1","version":"0.1.0","seconds":3.25,"summary":{"asked":9,"interrupted":false}}"#;
    let summary = json::parse(summary.as_bytes()).expect("an object");
    let settings = r#"{"model":"m.onnx","delta":5.0,"norm":"l1","target":"all","images":[0,1,2]}"#;
    let settings = json::parse(settings.as_bytes()).expect("an object");
    let origin = RunOrigin { command: "rw-adv --delta 5".into(), begun: "now".into() };
    StoredRun {
        records,
        origin: Some(origin),
        settings,
        asked: Some(9),
        missing: Some(Vec::new()),
        summary,
        sketches,
    }
}

/// So many images of noise, each with so many targets, so many values changed, and long curves.
fn noisy(images: usize, targets: usize, size: PictureSize, changes: usize) -> StoredRun {
    let mut sketches = Sketches { size: Some(size), ..Sketches::default() };
    let mut rows = Vec::new();
    for image in 0..images {
        sketches.originals.insert(image, noise(image).take(size.values()).collect());
        for target in 0..targets {
            rows.push(row(image, target, ""));
            let steps = noise(image + target).take(changes);
            let steps: Vec<u8> = steps.flat_map(|byte| [0, 1 + byte % 2]).collect();
            let curve: Vec<(f64, f64)> =
                (0..12).map(|k| (0.0123 * f64::from(k), f64::from(k).sin() - 1.0)).collect();
            sketches.sketches.insert((image, target), sketch(&steps, &curve));
        }
    }
    stored(rows, sketches)
}

/// The data embedded in a page.
fn embedded(page: &str) -> Value {
    let (_, data) = page.split_once(r#"id="data">"#).expect("there is data");
    let (data, _) = data.split_once("</script>").expect("it ends");
    serde_json::from_str(data).expect("JSON")
}

fn made(stored: &StoredRun) -> String {
    attack_page(stored).expect("memory takes everything")
}

#[test]
fn a_page_loads_nothing() {
    let page = made(&noisy(3, 2, PictureSize { width: 4, height: 4, channels: 1 }, 5));
    assert!(page.contains("default-src 'none'"));
    // What is saved from the page has an address within it.
    let lower = page.to_lowercase().replace("objecturl(", "");
    for loads in [
        "http://", "https://", "//cdn", " src=", "<link", "@import", "url(", "fetch(", "xmlhttp",
        "import(",
    ] {
        assert!(!lower.contains(loads), "{loads}");
    }
    assert!(!page.contains("{{"), "every place is filled");
}

/// A record says where its files are; `javascript:…` there was a link. The page alone has no files beside it.
#[test]
fn no_text_becomes_a_link() {
    let page = made(&noisy(1, 1, PictureSize { width: 4, height: 4, channels: 1 }, 5));
    assert_eq!((page.matches("href:").count(), page.matches("javascript:").count()), (0, 0));
    let given: Vec<&str> = page.split(".href = ").skip(1).map(|rest| &rest[..8]).collect();
    assert_eq!(given, ["address;"]);
}

#[test]
fn settings_command_and_date_are_told_in_words() {
    let data = embedded(&made(&stored(vec![row(0, 3, "")], Sketches::default())));
    assert_eq!(data["origin"]["command"], "rw-adv --delta 5");
    assert_eq!(data["setting_texts"][0], serde_json::json!(["model", "m.onnx"]));
    assert_eq!(data["setting_texts"][1], serde_json::json!(["images", "0–2"]));
}

/// An adversary is told exactly: its values, and the bytes of its picture, where it was changed.
#[test]
fn adversaries_are_there_exactly() {
    let (dims, original) = ([2, 2], [0.2, 0.30001, 0.2, 0.2]);
    let point = [0.2, 0.75, 0.2, 0.2];
    let drawn = Sketch::new(&dims, &original, &point, &[]);
    let drawn = drawn.of_witness(&dims, &original, &point, Some(&[51, 191, 51, 51]));
    let size = Some(PictureSize { width: 2, height: 2, channels: 1 });
    let mut sketches = Sketches { size, dims: Some(dims.to_vec()), ..Sketches::default() };
    sketches.originals.insert(4, vec![51, 77, 51, 51]);
    let values: Vec<u8> = original.iter().flat_map(|x: &f32| x.to_le_bytes()).collect();
    sketches.exact_originals.insert(4, values.clone());
    sketches.sketches.insert((4, 1), drawn);
    let data = embedded(&made(&stored(vec![row(4, 1, "")], sketches)));
    let pictures = &data["pictures"];
    assert_eq!((&pictures["exact"], &pictures["valued"]), (&true.into(), &serde_json::json!([4])));
    let all = unpacked(pictures);
    let exact = [&values[..], &[1], &0.75f32.to_le_bytes(), &[191]].concat();
    assert!(all.starts_with(&[51, 77, 51, 51, 2, 1]) && all.ends_with(&exact), "{all:?}");
}

/// What a page holds of pictures.
fn unpacked(pictures: &Value) -> Vec<u8> {
    let bytes = BASE64.decode(pictures["bytes"].as_str().expect("text")).expect("base 64");
    let mut all = Vec::new();
    DeflateDecoder::new(&bytes[..]).read_to_end(&mut all).expect("deflated");
    all
}

#[test]
fn every_label_has_its_outcomes() {
    // Labels are those of the images; verdicts follow from image and target.
    let data = embedded(&made(&noisy(3, 1, PictureSize { width: 2, height: 2, channels: 1 }, 1)));
    let classes = data["classes"].as_array().expect("a list");
    assert_eq!(classes.len(), 3);
    assert_eq!(classes[0][1]["attacked"], 1);
    assert_eq!(classes[1][1]["certified"], 1);
    assert_eq!(classes[2][1]["undecided"], 1);
    assert_eq!(data["quantiles"][0].as_array().map(Vec::len), Some(6));
}

#[test]
fn a_thousand_images_take_less_than_three_megabytes() {
    let digits = PictureSize { width: 28, height: 28, channels: 1 };
    let photographs = PictureSize { width: 32, height: 32, channels: 3 };
    // An L1 budget moves a few pixels, an L∞ budget all.
    for (targets, size, changes) in [(9, digits, 10), (1, photographs, 20), (1, digits, 784)] {
        let page = made(&noisy(1000, targets, size, changes));
        assert!(page.len() < 3 * MEGABYTE, "{targets} {size:?}: {} bytes", page.len());
    }
    let page = made(&noisy(1000, 1, digits, 10));
    let pictures = &embedded(&page)["pictures"];
    assert_eq!(pictures["bits"], 8);
    assert_eq!(pictures["images"].as_array().map(Vec::len), Some(1000));
}

#[test]
fn what_is_too_large_goes_without_some_pictures() {
    let page = made(&noisy(40, 1, PictureSize { width: 200, height: 200, channels: 3 }, 9));
    assert!(page.len() < 3 * MEGABYTE, "{} bytes", page.len());
    let pictures = &embedded(&page)["pictures"];
    let drawn = pictures["images"].as_array().map_or(0, Vec::len);
    assert!((5..40).contains(&drawn), "{drawn} pictures");
}

/// File names are the user's: nothing in them may end the script, or begin one.
#[test]
fn hostile_names_stay_text() {
    let names = [
        "</script><script>alert(1)</script>.png",
        "<!--<script>.png",
        "\"><img src=x onerror=alert(1)>.png",
        "{{script}}\u{2028}&lt;b&gt;.png",
    ];
    let rows: Vec<AttackRecord> = names
        .iter()
        .enumerate()
        .map(|(image, name)| {
            let name = serde_json::to_string(name).expect("text");
            row(image, 3, &format!(r#","name":{name}"#))
        })
        .collect();
    let harmless = made(&stored(vec![row(0, 3, "")], Sketches::default()));
    let page = made(&stored(rows, Sketches::default()));
    for tag in ["<script", "</script", "<!--", "<img"] {
        assert_eq!(page.matches(tag).count(), harmless.matches(tag).count(), "{tag}");
    }
    assert_eq!(embedded(&page)["columns"]["name"], serde_json::json!(names));
}

#[test]
fn pictures_are_those_that_were_stored() {
    let size = PictureSize { width: 2, height: 1, channels: 1 };
    let mut sketches = Sketches { size: Some(size), ..Sketches::default() };
    sketches.originals.insert(4, vec![7, 250]);
    sketches.originals.insert(9, vec![1, 2]);
    sketches.sketches.insert((4, 1), sketch(&[1, 9], &[(0.5, -1.0), (1.5, 2.0)]));
    sketches.sketches.insert((4, 2), sketch(&[], &[]));
    // An image without original, an original without image.
    sketches.sketches.insert((5, 1), sketch(&[0, 3], &[]));
    let rows = vec![row(4, 1, ""), row(4, 2, ""), row(5, 1, "")];
    let data = embedded(&made(&stored(rows, sketches)));
    assert_eq!(data["pictures"]["images"], serde_json::json!([4]));
    assert_eq!(unpacked(&data["pictures"]), [7, 250, 2, 1, 9, 1, 0]);
    assert_eq!(data["pictures"]["exact"], false);
    assert_eq!(data["curves"], serde_json::json!([[0.5, -1.0, 1.5, 2.0], [], []]));
}

#[test]
fn columns_hold_what_a_browser_can() {
    let mut records =
        vec![row(0, 3, r#","bound_trace":[[0.25,3.0],[0.5,1.0000000000001]]"#), row(1, 3, "")];
    records[0].margin = 1.234567890e-9;
    let data = embedded(&made(&stored(records, Sketches::default())));
    let columns = &data["columns"];
    assert_eq!((&columns["seed"], &columns["bound_trace"]), (&Value::Null, &Value::Null));
    assert_eq!(columns["margin"][0], 1.234568e-9);
    assert_eq!(data["bounds"], serde_json::json!([[0.25, 3.0, 0.5, 1.0], []]));
    // What all have in common is there once.
    assert_eq!((&columns["delta"], &columns["target"]), (&5.0.into(), &3.into()));
    assert_eq!(columns["margin_png"], Value::Null);
    assert_eq!((&data["count"], &data["interrupted"]), (&2.into(), &false.into()));
    assert_eq!(data["asked"], 9);
    let nothing =
        StoredRun { asked: None, summary: Fields::new(), ..stored(vec![], Sketches::default()) };
    let page = made(&nothing);
    let data = embedded(&page);
    assert_eq!((&data["count"], &data["interrupted"]), (&0.into(), &Value::Null));
    assert!(page.contains("0 searched: 0 adversarial, 0 robust, 0 unknown"));
}

fn empty<R>() -> StoredRun<R> {
    let StoredRun { origin, settings, asked, missing, summary, sketches, .. } =
        stored(Vec::new(), Sketches::default());
    StoredRun { records: Vec::new(), origin, settings, asked, missing, summary, sketches }
}

#[test]
fn other_results_have_pages_too() {
    let pages = [
        (radius_page(&empty()), "radii", "Radii of 0 images"),
        (verify_page(&empty()), "instances", "0 instances"),
        (maximum_page(&empty()), "maximum", "No result"),
    ];
    for (page, kind, counts) in pages {
        let page = page.expect("memory takes everything");
        assert_eq!(embedded(&page)["kind"], kind);
        assert!(page.contains(counts), "{kind}");
    }
}
