#!/usr/bin/env bash
# Installs the packages of dist/release where nothing else is, and uses them as their
# users would: make package-check. It needs root, debootstrap and a mirror of Debian;
# MEMTOP_TREE names a tree that debootstrap has made already, with man-db and
# bash-completion, which is changed.
set -euo pipefail
release=$(realpath "$1") file=$(realpath "$2")
arch=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
chmod 755 "$work"

fail() { echo "FAILED: $*"; exit 1; }
# says PATTERN COMMAND...: what the command prints has the pattern.
says() {
	local said
	said=$("${@:2}" 2>&1) || fail "${*:2}: $said"
	grep -q -e "$1" <<<"$said" || fail "${*:2} does not say \"$1\": $said"
	echo "ok: ${*:2}"
}

echo "== the Debian package, in a tree of debootstrap's"
tree=${MEMTOP_TREE:-$work/tree}
[ -d "$tree" ] || debootstrap --variant=minbase --include=man-db,bash-completion stable "$tree" >"$work/log" || fail "$(tail -3 "$work/log")"
cp "$release"/memtop_*_linux_"$arch".deb "$tree/memtop.deb"
cp "$file" "$tree/oom.pickle"
inside() { unshare --mount --pid --fork --mount-proc="$tree/proc" chroot "$tree" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"; }
inside dpkg -i /memtop.deb >/dev/null
says '^memtop .* commit [0-9a-f]\{12\}.* go1.* linux/' inside memtop --version
says 'Out of memory' inside memtop report oom.pickle
says 'Out of memory' inside memtop open oom.pickle
says 'step ' inside memtop demo
says '/usr/share/man/man1/memtop.1.gz' inside man -w memtop
says 'EXIT STATUS' inside man memtop
says 'complete .*memtop' inside bash -c '. /usr/share/bash-completion/bash_completion; . /usr/share/bash-completion/completions/memtop; complete -p memtop'
says '^report' inside bash -c '. /usr/share/bash-completion/bash_completion; _comp_load memtop 2>/dev/null || _completion_loader memtop
	COMP_WORDS=(memtop rep) COMP_CWORD=1 COMP_LINE="memtop rep" COMP_POINT=10 COMP_TYPE=9; __start_memtop; printf "%s\n" "${COMPREPLY[@]}"'
inside dpkg -L memtop | sort >"$work/deb.files"
inside dpkg -r memtop >/dev/null
[ ! -e "$tree/usr/bin/memtop" ] || fail "it is still there when it was removed"

echo "== lintian"
lintian "$tree/memtop.deb" >"$work/lintian" 2>/dev/null || true
cat "$work/lintian"
! grep '^E:' "$work/lintian" || fail "lintian finds errors"

echo "== the RPM package, in an empty folder"
mkdir "$work/rpm"
rpm --root "$work/rpm" --initdb
rpm --root "$work/rpm" --ignoreos -i "$release"/memtop_*_linux_"$arch".rpm
says '^memtop .* commit ' chroot "$work/rpm" /usr/bin/memtop --version
rpm --root "$work/rpm" -V memtop || fail "what was installed is not what is in the package"
says 'man1/memtop.1.gz' rpm --root "$work/rpm" -ql memtop

echo "== the image of a container, without an engine"
mkdir "$work/image" "$work/layer"
tar -C "$work/image" -xf "$release"/memtop_*_linux_"$arch".oci.tar
(cd "$work/image/blobs/sha256" && sha256sum * | awk '$1 != $2 { exit 1 }') || fail "a blob has another sum than its name"
layer=$(grep -o '"Layers":\["[^"]*' "$work/image/manifest.json" | cut -d'"' -f4)
tar -C "$work/layer" -xzf "$work/image/$layer"
cp "$file" "$work/layer/oom.pickle"
says '^memtop .* commit ' chroot --userspec=65532:65532 "$work/layer" /memtop --version
says 'Out of memory' chroot --userspec=65532:65532 "$work/layer" /memtop report /oom.pickle
if command -v skopeo >/dev/null; then
	says '"Os": "linux"' skopeo inspect "oci-archive:$(echo "$release"/memtop_*_linux_"$arch".oci.tar)"
	says '"Os": "linux"' skopeo inspect "docker-archive:$(echo "$release"/memtop_*_linux_"$arch".oci.tar)"
fi

echo "== the formula"
if command -v ruby >/dev/null; then says 'Syntax OK' ruby -c "$release/memtop.rb"; else echo "SKIP: there is no ruby"; fi
echo "== all packages work"
