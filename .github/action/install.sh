#!/usr/bin/env bash
# Puts memtop into the job's PATH: the release $VERSION from the package index, or
# without one what is built from the commit that the action is used at.
set -euo pipefail
folder=$RUNNER_TEMP/memtop
mkdir -p "$folder"
if [ -n "${VERSION:-}" ]; then
	python3 -m pip install --quiet --disable-pip-version-check --upgrade --target "$folder/python" "memtop==$VERSION"
	echo "$folder/python/bin" >>"$GITHUB_PATH"
else
	go build -C "$GITHUB_ACTION_PATH" -trimpath -o "$folder/memtop" ./cmd/memtop
	echo "$folder" >>"$GITHUB_PATH"
fi
