#!/usr/bin/env bash
# From a fresh machine of each kind to the first answer on a snapshot, by one line, out
# of dist/release that a server on 127.0.0.1 hands out: make fresh-check. It prints what
# a user types, how many keys that takes, and the seconds.
#
#   fresh.sh RELEASE SNAPSHOT
#
# It needs root, debootstrap and a mirror of Debian; MEMTOP_TREE names a tree that
# debootstrap has made already with the packages below. dnf installs into an empty folder.
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "SKIP: only root can make a machine of a folder"; exit 0; }
release=$(realpath "$1") snapshot=$(realpath "$2") most=60
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
chmod 755 "$work"
server=
finish() {
	[ -z "$server" ] || kill "$server"
	gpgconf --kill all
	awk -v work="$work" 'index($2, work) == 1 { print $2 }' /proc/mounts | sort -r | while read -r mounted; do umount "$mounted"; done
	rm -rf --one-file-system "$work"
}
trap finish EXIT
fail() { echo "FAILED: $*"; exit 1; }

# What the server hands out, as the release's page, the package index and the site will.
mkdir -p "$work/served/simple"
python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$work/served" >"$work/server" 2>"$work/requests" &
server=$!
until port=$(grep -o 'port [0-9]*' "$work/server"); do kill -0 "$server" || fail "there is no server"; done
site=http://127.0.0.1:${port#port }
cp "$release"/memtop_*_linux_*.tar.gz "$release"/*.oci.tar "$release"/*.whl "$work/served/"
# index PROJECT WHEEL...: a project's page in the package index, with its wheels.
index() {
	local folder=$work/served/simple/$1 wheel name
	mkdir "$folder"
	for wheel in "${@:2}"; do
		name=$(basename "$wheel")
		cp "$wheel" "$folder/"
		echo "<a href=\"${name//+/%2B}\">$name</a>"
	done >"$folder/index.html"
}
index memtop "$release"/*.whl
export GNUPGHOME=$work/gnupg MEMTOP_KEY=nobody@memtop.test MEMTOP_SITE=$site
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --faked-system-time '20260101T000000!' --passphrase '' --quick-generate-key "$MEMTOP_KEY" ed25519 sign never 2>/dev/null
"$here/repositories.sh" "$release" "$work/served" >/dev/null 2>"$work/log" || fail "$(cat "$work/log")"

tree=${MEMTOP_TREE:-$work/tree}
if [ ! -d "$tree" ]; then
	debootstrap --variant=minbase --include=curl,python3-pip,pipx stable "$tree" >"$work/log" || fail "$(tail -3 "$work/log")"
fi

# pipx of Debian 13 renews its pip first, from the index.
index pip "$tree"/usr/share/python-wheels/pip-*.whl

# machine NAME LOWER: a machine with the files of a folder, which stays as it is.
machine() {
	mkdir -p "$work/$1"/{upper,work,root}
	mount -t overlay overlay -o "lowerdir=$2,upperdir=$work/$1/upper,workdir=$work/$1/work" "$work/$1/root"
	mkdir -p "$work/$1/root/root"
	cp "$snapshot" "$work/$1/root/root/snap.pickle"
}
inside() { # ROOT COMMAND...
	unshare --mount --pid --fork --mount-proc="$1/proc" chroot "$1" env -i PATH=/root/.local/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=xterm "${@:2}"
}

# times KIND LINE COMMAND...: the line is what a user types when all is published; the command is the same
# line with the server's address in it.
times() {
	local kind=$1 line=$2 start answer seconds
	start=$(date +%s.%N)
	answer=$("${@:3}" 2>&1) || fail "$kind: $answer"
	seconds=$(echo "$(date +%s.%N) $start" | awk '{ printf "%.1f", $1 - $2 }')
	grep -q 'Out of memory at event' <<<"$answer" || fail "$kind has no answer: $answer"
	awk -v s="$seconds" -v most="$most" 'BEGIN { exit s > most }' || fail "$kind took $seconds s, more than $most"
	# shellcheck disable=SC2016 # the quotes are Markdown's
	printf '| %s | %s s | %d | `%s` |\n' "$kind" "$seconds" "$((${#line} + 1))" "$line"
}
# by KIND LINE OPTIONS: a line in a shell of a fresh Debian, with the server's address in place of the public one.
public=https://memtop.github.io/memtop page=https://github.com/memtop/memtop/releases/download/vVERSION
by() {
	local line=${2//$public/$site}
	line=${line//$page/$site}
	machine "$1" "$tree"
	[ "$1" != uvx ] || cp "$(command -v uv)" "$(command -v uvx)" "$work/uvx/root/usr/local/bin/"
	times "$1" "$2" inside "$work/$1/root" bash -c "cd; ${3:-} $line"
}

arch=$(dpkg --print-architecture)
archive=$(basename "$release"/memtop_*_linux_"$arch".tar.gz)
echo "| machine | to the answer | keys | line |"
echo "|---|---|---|---|"
by curl "curl -L $page/$archive | tar xz && ./memtop report snap.pickle"
by pip "pip install --break-system-packages memtop && memtop report snap.pickle" "export PIP_INDEX_URL=$site/simple PIP_PRE=1 PIP_ROOT_USER_ACTION=ignore;"
by pipx "pipx run memtop report snap.pickle" "export PIP_INDEX_URL=$site/simple PIP_PRE=1 PIPX_DEFAULT_PYTHON=/usr/bin/python3;"
if command -v uvx >/dev/null; then # its user has it: two static files
	by uvx "uvx memtop report snap.pickle" "export UV_DEFAULT_INDEX=$site/simple UV_PRERELEASE=allow;"
else
	echo "SKIP: there is no uvx"
fi
by apt "curl -o /etc/apt/sources.list.d/memtop.sources $public/apt/memtop.sources && apt update && apt install memtop && memtop report snap.pickle"

# Fedora's installer and package manager, in a folder with nothing else: no image of Fedora is at hand.
if command -v dnf >/dev/null; then
	mkdir -p "$work/empty"
	machine dnf "$work/empty"
	mkdir -p "$work/dnf/root/etc/yum.repos.d"
	by_dnf() {
		curl -fsS -o "$work/dnf/root/etc/yum.repos.d/memtop.repo" "$site/rpm/memtop.repo"
		dnf --installroot="$work/dnf/root" --setopt=reposdir="$work/dnf/root/etc/yum.repos.d" --setopt=cachedir="$work/dnf/cache" \
			--releasever=1 --assumeyes --quiet install memtop
		chroot "$work/dnf/root" /usr/bin/memtop report /root/snap.pickle
	}
	times dnf "curl -o /etc/yum.repos.d/memtop.repo $public/rpm/memtop.repo && dnf install memtop && memtop report snap.pickle" by_dnf
else
	echo "SKIP: there is no dnf"
fi

# An engine's work by hand: fetch, check each blob against its name, unpack, run as the image says.
by_container() {
	mkdir -p "$work/image" "$work/container/tmp"
	curl -fsS "$site/$(basename "$release"/memtop_*_linux_"$arch".oci.tar)" | tar -C "$work/image" -xf -
	(cd "$work/image/blobs/sha256" && sha256sum -- * | awk '$1 != $2 { exit 1 }') || fail "a blob has another sum than its name"
	tar -C "$work/container" -xzf "$work/image/$(grep -o '"Layers":\["[^"]*' "$work/image/manifest.json" | cut -d'"' -f4)"
	cp "$snapshot" "$work/container/snap.pickle"
	chroot --userspec=65532:65532 "$work/container" /memtop report /snap.pickle
}
# shellcheck disable=SC2016 # the line is shown as it is typed
times container 'docker run -v $PWD:/w ghcr.io/memtop/memtop report /w/snap.pickle' by_container
echo "== every machine answered within $most s"
