#!/bin/sh
# Writes what a package installs beside memtop: the page for man, compressed,
# and the completions under the names that shells look for. shells.sh FOLDER
set -eu
mkdir -p "$1/man1" "$1/completions"
gzip -9 -n -c cmd/tools/release/memtop.1 >"$1/man1/memtop.1.gz"
go build -trimpath -o "$1/memtop" ./cmd/memtop
"$1/memtop" completion bash >"$1/completions/memtop"
"$1/memtop" completion zsh >"$1/completions/_memtop"
"$1/memtop" completion fish >"$1/completions/memtop.fish"
rm "$1/memtop"
