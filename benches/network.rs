//! One forward pass and one gradient of the 2×500 model, beside the time it takes merely to read its
//! weights: a pass cannot be faster than memory gives it 5.2 MB. `cargo bench --bench network`
//!
//! The figure to look at is the ratio to `read_weights` in the same run.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rw_adv::data::{DataSource, Dataset};
use rw_adv::network::{ActivationPattern, Trace};
use rw_adv::onnx::OnnxModel;

fn passes(criterion: &mut Criterion) {
    let model =
        OnnxModel::load("models/mnist_2x500.onnx".as_ref()).expect("the bundled model loads");
    let network = &model.network;
    let source = DataSource { path: "data".into(), ..DataSource::default() };
    let data = Dataset::open(&source, &model.input_dims).expect("the bundled data opens");
    let sample = data.sample(0).expect("there is a first image");
    let x: Vec<f64> = sample.pixels.iter().copied().map(f64::from).collect();

    let maps = network.layers().iter().map(|layer| layer.affine());
    let rows = maps.flat_map(|map| (0..map.outputs()).map(|i| map.dense_row(i)));
    let weights: Vec<f64> = rows.flat_map(|row| row.to_vec()).collect();
    let bytes = size_of_val(weights.as_slice());

    let mut trace = Trace::new(network);
    network.forward(&x, &mut trace);
    let pattern = ActivationPattern::at(&trace);
    let mut margin = vec![0.0; network.outputs()];
    (margin[3], margin[7]) = (1.0, -1.0);

    let mut group = criterion.benchmark_group("mnist_2x500");
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("read_weights", |b| b.iter(|| sum(black_box(&weights))));
    group.bench_function("forward", |b| b.iter(|| network.forward(black_box(&x), &mut trace)));
    group.bench_function("forward_held", |b| {
        b.iter(|| network.forward_held(black_box(&x), &pattern, &mut trace))
    });
    group.bench_function("gradient", |b| b.iter(|| network.gradient(black_box(&margin), &pattern)));
    group
        .bench_function("tract_f32", |b| b.iter(|| model.replay.logits(black_box(&sample.pixels))));
    group.finish();
}

/// Reads every number once and does next to nothing with it: 32 partial sums, so that the compiler can
/// use vectors and no addition waits for another.
fn sum(values: &[f64]) -> f64 {
    let mut partial = [0.0; 32];
    for chunk in values.as_chunks::<32>().0 {
        for (p, v) in partial.iter_mut().zip(chunk) {
            *p += v;
        }
    }
    partial.iter().sum()
}

criterion_group!(benches, passes);
criterion_main!(benches);
