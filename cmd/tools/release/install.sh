#!/usr/bin/env bash
# go install of this commit from a module proxy that is a folder, with nothing but
# the module cache beside it: make install-check.
set -euo pipefail
module=github.com/memtop/memtop version=v0.0.1-check
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
versions=$work/proxy/$module/@v
mkdir -p "$versions"
git archive --format=zip --prefix="$module@$version/" -o "$versions/$version.zip" HEAD
git show HEAD:go.mod >"$versions/$version.mod"
echo "{\"Version\":\"$version\"}" >"$versions/$version.info"
echo "$version" >"$versions/list"
! grep -q '^replace' "$versions/$version.mod" || { echo "FAILED: go install refuses a module that replaces others"; exit 1; }
GOPROXY="file://$work/proxy,file://$(go env GOMODCACHE)/cache/download" GOSUMDB=off GOFLAGS=-mod=mod CGO_ENABLED=0 \
	GOMODCACHE=$work/modules GOBIN=$work/bin ${OFFLINE:-} go install -trimpath "$module/cmd/memtop@$version" "$module/cmd/memtrain@$version"
"$work/bin/memtop" --version | tee "$work/said"
grep -q "^memtop $version " "$work/said"
"$work/bin/memtrain" --version
"$work/bin/memtop" demo --once -- --layers 1 --dim 32 --seq 32 --batch 2 | grep -q 'step '
echo "the zip has $(wc -c <"$versions/$version.zip") bytes"
