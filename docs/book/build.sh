#!/usr/bin/env bash
# Makes dist/book from the pages of docs. A warning, a broken link and a page that loads
# something from elsewhere are errors.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! command -v mkdocs >/dev/null; then
	echo "mkdocs is not installed: pip install -r docs/book/requirements.txt" >&2
	exit 1
fi
NO_MKDOCS_2_WARNING=1 mkdocs build --strict --clean -f docs/book/mkdocs.yml

# Links to other sites are for readers to follow. These attributes load, as do url() and import of style sheets.
alien='<(script|img|iframe|source|video|audio|embed)[^>]* src="?(https?:)?//|<link[^>]*rel="?(stylesheet|preconnect|preload|prefetch|icon)[^>]*href="?(https?:)?//|@import[^;]*//|url\(["'"'"']?(https?:)?//'
if grep -rEl --include '*.html' --include '*.css' "$alien" dist/book; then
	echo "the files above load something from elsewhere" >&2
	exit 1
fi
[ -s dist/book/search/search_index.js ] || { echo "the book cannot be searched without a server" >&2; exit 1; }
echo "dist/book: $(find dist/book -name '*.html' | wc -l) pages, open dist/book/index.html"
