#!/usr/bin/env bash
# Judges the job's snapshot: leaves the comment, the page and memtop's code where later
# steps find them. It never fails itself: the last step does, when all is kept.
set -euo pipefail
comment=$RUNNER_TEMP/memtop/comment.md
mkdir -p "$(dirname "$comment")"
# shellcheck disable=SC2086 # limits are words, and an empty base is none
"$GITHUB_ACTION_PATH/.github/action/comment.sh" "$SNAPSHOT" ${BASE:+"$BASE"} -- ${LIMITS:-} >"$comment" && code=0 || code=$?
cat "$comment" >>"$GITHUB_STEP_SUMMARY"
memtop export --force "$SNAPSHOT" -o "$PAGE" || true # there may be no snapshot, which the comment says
echo "comment=$comment" >>"$GITHUB_OUTPUT"
echo "code=$code" >>"$GITHUB_OUTPUT"
