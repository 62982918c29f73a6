#!/usr/bin/env bash
# Judges a memory snapshot for a pull request: prints a comment in Markdown, and leaves
# with memtop's code, which is 10 where the snapshot broke a limit.
#
#   comment.sh SNAPSHOT [BASE] [-- CHECK...]
#
# BASE is the snapshot of the base branch. CHECK are the limits, as memtop check has them.
set -uo pipefail

snapshot=${1:?which snapshot?}
shift
base=
if [ $# -gt 0 ] && [ "$1" != -- ]; then
	base=$1
	shift
fi
[ "${1:-}" = -- ] && shift

# Prints what a command printed, folded under a line. A name in a file cannot end the
# block, and GitHub refuses comments of more than 65,536 characters.
folded() {
	echo "<details><summary>$1</summary>"
	echo
	echo '```'
	tr '`' "'" <<<"$2" | head -c 20000
	printf '\n```\n'
	echo "</details>"
	echo
}

code=0
if [ $# -gt 0 ]; then
	sites=$(memtop check "$snapshot" "$@" 2>/dev/null)
	code=$?
fi
report=$(memtop report "$snapshot" 2>&1) || code=$?
case $code in
0) echo "### memtop: the memory is within the limits" ;;
10) echo "### memtop: the snapshot breaks a limit" ;;
*) echo "### memtop: the snapshot could not be judged" ;;
esac
echo
[ "$code" = 10 ] && folded "What broke it" "$sites"
if [ -n "$base" ]; then
	difference=$(memtop diff "$base" "$snapshot" --at peak 2>&1) || code=$?
	folded "Compared with the base branch, at the peak" "$difference"
fi
folded "Report" "$report"
exit "$code"
