#!/usr/bin/env bash
# VNN-COMP: one instance.    run_instance.sh v1 CATEGORY ONNX VNNLIB RESULTS TIMEOUT
# The first line of RESULTS is sat, unsat, unknown, timeout or error; a counterexample follows sat. Exit code 0, whatever the answer is.
set -u
if [ "${1:-}" != v1 ] || [ $# -lt 6 ]; then
    echo "run_instance.sh: expected v1 CATEGORY ONNX VNNLIB RESULTS TIMEOUT, found '$*'" >&2
    exit 1
fi
tool=${RW_ADV:-"$(dirname "$(realpath "$0")")/../../target/release/rw-adv"}
onnx=$3 vnnlib=$4 results=$5 timeout=$6
# The tool keeps the time itself, and needs a moment to write. If it is killed all the same, that was a timeout.
limit=$(awk -v t="$timeout" 'BEGIN { print (t > 20 ? t - 1 : 0.95 * t) }')
partial="$results.partial"
timeout --kill-after=1 "$timeout" \
    "$tool" verify "$onnx" "$vnnlib" --timeout "$limit" --results "$partial" --quiet
code=$?
if [ $code = 0 ] || { [ $code = 2 ] && [ -s "$partial" ]; }; then
    mv "$partial" "$results"
elif [ $code = 124 ] || [ $code = 137 ]; then
    echo timeout > "$results"
else
    echo error > "$results"
fi
rm -f "$partial"
exit 0
