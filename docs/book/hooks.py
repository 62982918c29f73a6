"""What the pages need to be a book: links that leave docs go to the repository, and nothing is loaded from elsewhere."""

import pathlib
import posixpath
import re

REPOSITORY = "https://github.com/memtop/memtop/blob/main/"
LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")
# The theme fetches what lets its search work from a folder.
FETCHED = '<script src="https://unpkg.com/iframe-worker/shim"></script>'
OWN = f"<script>{pathlib.Path(__file__).with_name('worker.js').read_text()}</script>"


def on_page_markdown(markdown, page, **_):
    def link(found):
        path, anchor = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), found[1])), found[2] or ""
        if path.startswith("docs/") and path != "docs/decisions":
            return found[0]
        return f"]({REPOSITORY}{path}{anchor})"

    return LINK.sub(link, markdown)


def on_post_page(output, /, **_):
    return output.replace(FETCHED, OWN)


on_post_template = on_post_page
