#!/usr/bin/env bash
# Hands a release to where users get it from: make publish, in the workflow. With DRY=1
# it does what can be done without the places, and says what it leaves out: make
# release-dry.
#
#   publish.sh VERSION      after make release, at that version
set -euo pipefail
version=${1:?which version?} dry=${DRY:-}
release=dist/release sums=dist/release/memtop_$1_checksums.txt
registry=ghcr.io/${GITHUB_REPOSITORY:-memtop/memtop}

# away COMMAND...: reaches the network, so a dry run only says it.
away() { if [ -n "$dry" ]; then echo "left out: $*"; else "$@"; fi; }

echo "== the signature of the checksums"
if [ -z "$dry" ]; then
	cosign sign-blob --yes --bundle "$sums.sigstore.json" "$sums"
elif command -v cosign >/dev/null; then # as there, but by a key that is thrown away, where no one vouches for us
	keys=$(mktemp -d)
	trap 'rm -rf "$keys"' EXIT
	(cd "$keys" && COSIGN_PASSWORD='' cosign generate-key-pair)
	COSIGN_PASSWORD='' cosign sign-blob --yes --tlog-upload=false --key "$keys/cosign.key" --bundle "$keys/bundle" "$sums" >/dev/null
	cosign verify-blob --insecure-ignore-tlog --key "$keys/cosign.pub" --bundle "$keys/bundle" "$sums"
else
	echo "SKIP: there is no cosign: go install github.com/sigstore/cosign/v2/cmd/cosign@v2.6.5"
fi

echo "== the files of the release"
files=("$release/memtop.rb")
[ -n "$dry" ] || files+=("$sums.sigstore.json")
ls -l "${files[@]}"
away gh release upload "v$version" "${files[@]}"

echo "== the images of the registry"
if [ -n "$dry" ] && ! command -v skopeo >/dev/null; then
	echo "SKIP: there is no skopeo"
else
	mkdir -p dist/images
	[ -n "$dry" ] || skopeo login ghcr.io -u "$GITHUB_ACTOR" --password-stdin <<<"$GITHUB_TOKEN"
	for image in "$release"/*.oci.tar; do
		to=docker://$registry:${image##*memtop_}
		to=${to%.oci.tar}
		if [ -n "$dry" ]; then
			skopeo --insecure-policy copy --quiet "oci-archive:$image" "dir:dist/images/$(basename "$image" .oci.tar)"
			echo "left out: skopeo copy oci-archive:$image $to"
		else
			skopeo copy "oci-archive:$image" "$to"
		fi
	done
	# One name for both processors, which the runners' docker makes in the registry.
	away docker buildx imagetools create -t "$registry:$version" -t "$registry:latest" "$registry:${version}_linux_amd64" "$registry:${version}_linux_arm64"
fi

echo "== the wheels of the package index"
ls -l "$release"/*.whl
