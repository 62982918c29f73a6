#!/usr/bin/env bash
# Makes a release and its repositories twice and compares all bytes: make release-check.
# OFFLINE is what takes the network away from a command.
set -euo pipefail
GNUPGHOME=$(mktemp -d)
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT
export GNUPGHOME MEMTOP_KEY=nobody@memtop.test
# The key stays the same for both, and is older than the commit, as that of a publisher.
gpg --batch --quiet --faked-system-time '20260101T000000!' --passphrase '' --quick-generate-key "$MEMTOP_KEY" ed25519 sign never

once() {
	rm -rf dist/release dist/repositories
	${OFFLINE:-} make release repositories
	(cd dist/release && sha256sum -c --quiet ./*_checksums.txt)
	find dist/release dist/repositories -type f ! -name '*.json' ! -name '*.yaml' -o -name '*.sbom.json' | LC_ALL=C sort | xargs sha256sum >"$1"
}
once dist/first.sums
once dist/second.sums
diff dist/first.sums dist/second.sums
echo "== twice the same bytes: $(wc -l <dist/first.sums) files, $(cut -d' ' -f3 dist/first.sums | xargs cat | wc -c) bytes"
