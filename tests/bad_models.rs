//! Damaged model files: one line naming the file, never a panic, never a wrong network.

use std::fs;
use std::path::Path;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::onnx::OnnxModel;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/models/mnist_2x16.onnx");
const ZOO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/zoo/accepted");

/// Loads `bytes` as a model; the error is one line that starts with the file's name.
fn load(bytes: &[u8], name: &str) -> Result<OnnxModel, String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join(name);
    fs::write(&path, bytes).expect("the temporary directory is writable");
    OnnxModel::load(&path).map_err(|error| {
        let line = error.to_string();
        assert!(line.starts_with(&path.display().to_string()), "{line}");
        assert!(!line.contains('\n'), "{line}");
        line
    })
}

#[test]
fn an_empty_file_is_refused() {
    assert!(load(b"", "empty.onnx").is_err_and(|line| line.contains("empty")));
}

#[test]
fn random_bytes_are_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for length in [1, 2, 3, 10, 100, 1000, 100_000] {
        let mut bytes = vec![0; length];
        rng.fill_bytes(&mut bytes);
        assert!(load(&bytes, "random.onnx").is_err(), "{length} random bytes loaded");
    }
}

#[test]
fn text_and_a_picture_are_refused() {
    assert!(load(b"hello, I am not a model\n", "text.onnx").is_err());
    assert!(load(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "picture.onnx").is_err());
}

#[test]
fn a_file_cut_short_is_refused_wherever_it_is_cut() {
    let whole = fs::read(FIXTURE).expect("the fixture is there");
    for percent in [1, 10, 25, 50, 75, 90, 99] {
        let cut = &whole[..whole.len() * percent / 100];
        assert!(load(cut, "cut.onnx").is_err(), "{percent} % of the fixture loaded");
    }
}

#[test]
fn a_damaged_gzip_is_refused() {
    let whole = fs::read(format!("{ZOO}/gzipped.onnx.gz")).expect("the zoo is there");
    assert!(load(&whole, "whole.onnx.gz").is_ok());
    assert!(load(&whole[..whole.len() / 2], "cut.onnx.gz").is_err());
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x55;
    assert!(load(&flipped, "flipped.onnx.gz").is_err());
}

#[test]
fn a_missing_file_and_a_directory_are_refused() {
    let missing = OnnxModel::load(Path::new("no/such/model.onnx")).map(|_| ());
    assert!(missing.is_err_and(|e| e.to_string().starts_with("no/such/model.onnx: cannot read")));
    let directory = OnnxModel::load(Path::new(ZOO)).map(|_| ());
    assert!(directory.is_err_and(|e| e.to_string().contains("is a directory")));
}

/// A flipped byte may hit a weight, and then the file is a model again; all else must be an error.
/// The loader's own check against tract holds for whatever loads.
#[test]
fn flipped_bytes_never_panic() {
    let files = [
        "opset_13.onnx",
        "conv_groups.onnx",
        "batchnorm_conv.onnx",
        "skl_mlp.onnx",
        "avgpool_ceil.onnx",
    ];
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (mut loaded, mut refused) = (0, 0);
    for file in files {
        let whole = fs::read(format!("{ZOO}/{file}")).expect("the zoo is there");
        for _ in 0..60 {
            let mut bytes = whole.clone();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..bytes.len());
                bytes[at] = rng.random();
            }
            match load(&bytes, file) {
                Ok(_) => loaded += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(
        loaded > 0 && refused > 0,
        "{loaded} loaded, {refused} refused: the test has lost its bite"
    );
}
