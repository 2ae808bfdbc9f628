#!/usr/bin/env bash
# VNN-COMP: installs what is missing and builds the tool, once.    install_tool.sh v1
set -euo pipefail
if [ "${1:-}" != v1 ]; then
    echo "install_tool.sh: the first argument must be the version, v1, not '${1:-}'" >&2
    exit 1
fi
cd "$(dirname "$(realpath "$0")")/../.."
environment=$(scripts/setup)
eval "$environment"
cargo build --release --locked
