#!/usr/bin/env bash
# Runs the steps of action.yml on two files, without GitHub, and prints the comment that
# would be posted: make action-check. With wheels in dist/release it does so with
# memtop from there too, and the comments must be equal.
set -euo pipefail
cd "$(dirname "$0")/../.."
base=${1:-cmd/memtop/testdata/tiny_training.pickle} now=${2:-$base} limits=${3:---max-peak 100MiB}
out=dist/action
rm -rf "$out"
mkdir -p "$out"

# steps NAME VERSION
steps() {
	export RUNNER_TEMP=$PWD/$out/$1 GITHUB_ACTION_PATH=$PWD VERSION=$2
	mkdir -p "$RUNNER_TEMP"
	export GITHUB_PATH=$RUNNER_TEMP/path GITHUB_OUTPUT=$RUNNER_TEMP/output GITHUB_STEP_SUMMARY=$RUNNER_TEMP/summary
	.github/action/install.sh
	PATH=$(cat "$GITHUB_PATH"):$PATH SNAPSHOT=$now BASE=$base LIMITS=$limits PAGE=$RUNNER_TEMP/memtop.html .github/action/judge.sh
	cat "$GITHUB_OUTPUT"
}
steps built ""
cat "$out/built/memtop/comment.md"
wheel=$(ls dist/release/memtop-*manylinux*_"$(uname -m)"*.whl 2>/dev/null || true)
if [ -n "$wheel" ]; then
	version=${wheel#*memtop-}
	PIP_NO_INDEX=1 PIP_FIND_LINKS=$PWD/dist/release steps wheel "${version%%-*}"
	cmp "$out/built/memtop/comment.md" "$out/wheel/memtop/comment.md"
	echo "== the same comment from the wheel"
else
	echo "SKIP: there is no wheel in dist/release"
fi
ls -l "$out"/*/memtop.html
