#!/usr/bin/env bash
# Makes the repositories of packages that apt and dnf install memtop from, out of
# dist/release: make repositories. They are files for any web server:
#
#   repositories.sh RELEASE OUT
#
# MEMTOP_SITE is the address that OUT will be served at, and MEMTOP_KEY the key of gpg
# that signs. Without a key they are not signed, and no package manager takes them
# before it is told to. The same release and key give the same bytes.
set -euo pipefail
for tool in dpkg-deb createrepo_c; do
	command -v "$tool" >/dev/null || { echo "there is no $tool: apt-get install dpkg createrepo-c"; exit 1; }
done
release=$(realpath "$1") site=${MEMTOP_SITE:-https://memtop.github.io/memtop} key=${MEMTOP_KEY:-}
mkdir -p "$2"
out=$(realpath "$2")
time=$(git log -1 --format=%ct)
rm -rf "${out:?}/apt" "${out:?}/rpm"
mkdir "$out/apt" "$out/rpm"

# sign ARGUMENT...: what gpg writes depends only on its input: the time is the commit's.
sign() { [ -z "$key" ] || gpg --batch --yes --quiet --local-user "$key" --faked-system-time "$time!" "$@"; }

# sum FILE
sum() { sha256sum <"$1" | cut -d' ' -f1; }

cd "$out/apt"
cp "$release"/*.deb .
for package in *.deb; do
	dpkg-deb --field "$package"
	printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$package" "$(stat -c %s "$package")" "$(sum "$package")"
done >Packages
gzip -9 -n -k Packages
{
	printf 'Origin: memtop\nLabel: memtop\nSuite: stable\nArchitectures: amd64 arm64\nDate: %s\nSHA256:\n' "$(date -u -R -d "@$time")"
	for index in Packages Packages.gz; do echo " $(sum $index) $(stat -c %s $index) $index"; done
} >Release
sign --clearsign --output InRelease Release
{
	printf 'Types: deb\nURIs: %s/apt\nSuites: ./\n' "$site"
	if [ -n "$key" ]; then
		echo "Signed-By:"
		gpg --armor --export "$key" | sed 's/^$/./; s/^/ /'
	fi
} >memtop.sources

cd "$out/rpm"
cp "$release"/*.rpm .
touch --date "@$time" -- *.rpm
createrepo_c --quiet --revision "$time" --set-timestamp-to-revision --simple-md-filenames --no-database --general-compress-type gz .
sign --armor --detach-sign --output repodata/repomd.xml.asc repodata/repomd.xml
[ -z "$key" ] || gpg --armor --export "$key" >memtop.asc
# The signed list has the sum of each package, so the packages need no signature of their own.
printf '[memtop]\nname=memtop\nbaseurl=%s/rpm\nenabled=1\ngpgcheck=0\nrepo_gpgcheck=%d\ngpgkey=%s/rpm/memtop.asc\n' \
	"$site" "$([ -n "$key" ] && echo 1 || echo 0)" "$site" >memtop.repo
echo "$out has the repositories for $site"
