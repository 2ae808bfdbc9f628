#!/usr/bin/env bash
# VNN-COMP: before each instance.    prepare_instance.sh v1 CATEGORY ONNX VNNLIB
# Exit code 0: the instance may be run. Otherwise it is not supported: stderr says why.
set -eu
if [ "${1:-}" != v1 ] || [ $# -lt 4 ]; then
    echo "prepare_instance.sh: expected v1 CATEGORY ONNX VNNLIB, found '$*'" >&2
    exit 1
fi
tool=${RW_ADV:-"$(dirname "$(realpath "$0")")/../../target/release/rw-adv"}
# Nothing is kept from one instance to the next; only what cannot be read is told in advance.
test -r "$4"
"$tool" inspect "$3" > /dev/null
