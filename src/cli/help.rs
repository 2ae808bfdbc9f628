//! What help and version say beside the options.

use std::sync::LazyLock;

/// One screen of 80 x 24; --help has everything.
pub const SHORT_HELP: &str = "\
How wrong can a trained ReLU classifier be made within an L1 budget?

Usage: rw-adv --model FILE --delta DELTA [OPTIONS]
       rw-adv COMMAND …

  --model FILE     the classifier (.onnx or .onnx.gz)
  --delta DELTA    how far an image may be changed
  --data PATH      images: MNIST directory, IDX, PNG, .npy   [data]
  --images WHICH   50, or 3,7,9, or 100..150                 [10]
  --target TARGET  runner-up, a label, all, a CSV file       [runner-up]
  --goal GOAL      optimum, or verdict: faster               [optimum]
  --branch NODES   branch and bound: 0 none, no number: no limit  [250]
  --norm NORM      l1 or linf                                [l1]
  --out DIR        keep records, pictures and arrays; --resume continues
  --time-limit S   seconds for each row                      [none]
  --fail-under P   exit with code 1 if less is certified; --csv, --junit FILE
  --threads N      --json  --exit-code  --dry-run  --config FILE  -v  -q

Commands, each with --help: inspect, radius, maximize, verify, report, compare,
status, merge, check-proof, supports, bench, completions, man

Example: rw-adv --model models/mnist_2x500.onnx --images 50 --delta 5
";

pub const EXAMPLES: &str = "\
Examples:
  rw-adv --model models/mnist_2x500.onnx --images 50 --delta 5 --out results
  rw-adv --model net.onnx --data digits/ --images 3,7,9 --delta 2.5 --json
  rw-adv radius --model models/mnist_2x500.onnx --images 10
  rw-adv maximize --model net.onnx --objective 'y0 - 0.5*y3' --box -1,1 --constraints limits.txt
  rw-adv verify net.onnx property.vnnlib --timeout 60

Exit codes: 0 finished; 1 an adversary was found (--exit-code) or too few are certified (--fail-under); 2 bad usage
or input, one line on stderr says which; 130 interrupted; what was found so far is written.";

pub const ENVIRONMENT: &str = "\
Environment: NO_COLOR, if it is not empty, switches colours off. RW_ADV_LOG=error|warn|info|debug sets the lowest level
that is logged to stderr [default: warn]; debug tells which starts and walks were given up, and why.";

/// Also tells which HiGHS this is.
pub static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    format!("{} (HiGHS {})", env!("CARGO_PKG_VERSION"), rw_adv::encode::solver_version())
});
