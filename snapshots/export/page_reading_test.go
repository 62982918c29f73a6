package export_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/browsertest"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/export"
)

// reading is what a browser says of how a page can be read.
type reading struct {
	Width    int      // of the page, with what hangs over
	Headings []int    // their levels, in their order
	Faint    []string // texts with a contrast of less than 4.5, as WCAG 2.1 wants of AA
}

// readings measures the colours as WCAG 2.1 defines contrast. A box without a
// background shows the one of the box around it.
const readings = `(() => {
  const numbers = color => color.match(/[\d.]+/g).map(Number)
  const ground = node => {
    for (; node; node = node.parentElement) {
      const color = numbers(getComputedStyle(node).backgroundColor)
      if (color.length < 4 || color[3] > 0) return color
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255]
  }
  const light = color => color.slice(0, 3).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0)
  const faint = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walk.nextNode()) {
    const box = walk.currentNode.parentElement
    if (!walk.currentNode.textContent.trim() || box.closest("script, svg")) continue
    const [a, b] = [light(numbers(getComputedStyle(box).color)), light(ground(box))].sort((a, b) => b - a)
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.add(box.tagName + "." + box.className + ": " + walk.currentNode.textContent)
  }
  return {
    Width: document.documentElement.scrollWidth, Faint: [...faint],
    Headings: [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map(h => Number(h.tagName[1])),
  }
})()`

// everyoneCanRead opens pages on a telephone and on a desk, in light and in dark.
func everyoneCanRead(t *testing.T, browser *browsertest.Browser) {
	t.Helper()
	for name, tr := range traces() {
		page := open(t, browser, string(written(t, tr, "html", export.Options{AtAnswer: true})))
		for _, width := range []int{360, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				var got reading
				page.Look(width, scheme)
				page.Evaluate(readings, &got)
				if got.Width > width || len(got.Faint) > 0 {
					t.Errorf("%s at %d in %s colours: %d wide, faint %q", name, width, scheme, got.Width, got.Faint)
				}
				before := 0
				for _, level := range got.Headings {
					if level > before+1 || level == 1 && before > 0 {
						t.Errorf("%s: headings of the levels %v", name, got.Headings)
					}
					before = level
				}
			}
		}
		namesAreSpoken(t, name, page)
	}
}

// namesAreSpoken looks for the roles of a page, and for a name of each thing that is
// more than text.
func namesAreSpoken(t *testing.T, name string, page *browsertest.Page) {
	t.Helper()
	var roles []string
	for _, s := range page.Spoken() {
		roles = append(roles, s.Role)
		if slices.Contains([]string{"slider", "img", "image", "tree", "treeitem", "button", "table", "navigation", "heading", "link", "columnheader", "rowheader"}, s.Role) &&
			strings.TrimSpace(s.Name) == "" {
			t.Errorf("%s: a %s without a name", name, s.Role)
		}
	}
	want := []string{"main", "contentinfo"}
	switch name {
	case "training":
		want = append(want, "slider", "tree", "treeitem", "table", "rowheader", "columnheader")
	case "two devices":
		want = append(want, "navigation", "link")
	}
	for _, role := range want {
		if !slices.Contains(roles, role) {
			t.Errorf("%s: no %s among %q", name, role, slices.Compact(slices.Sorted(slices.Values(roles))))
		}
	}
}

// stacksAnswerToKeys goes down a tree of stacks by keys, and zooms.
func stacksAnswerToKeys(t *testing.T, browser *browsertest.Browser) {
	t.Helper()
	page := open(t, browser, string(written(t, pytorchtest.TinyTraining(), "html", export.Options{AtAnswer: true})))
	type state struct {
		Named, Focused string
		Boxes          int     // that are shown
		Width          float64 // of the focused box, as part of the tree
		Stops          int     // of Tab in the tree
	}
	look := func() (s state) {
		page.Evaluate(`(() => {
  const tree = document.querySelector(".flame"), focused = document.activeElement
  return {Named: document.querySelector(".named").textContent, Focused: focused.getAttribute("aria-label") || "",
    Boxes: tree.querySelectorAll("li:not(.out)").length, Width: focused.getBoundingClientRect().width / tree.getBoundingClientRect().width,
    Stops: tree.querySelectorAll("[tabindex='0']").length}
})()`, &s)
		return s
	}
	page.Evaluate(`document.querySelector(".flame li").focus()`, nil)
	first := look()
	if first.Focused != "all, 186.6 MiB (100.0%)" || first.Stops != 1 {
		t.Fatalf("the tree begins with %+v", first)
	}
	for _, key := range []string{"ArrowRight", "ArrowDown", "ArrowRight"} {
		page.Key(key)
	}
	inside := look()
	if inside.Named != inside.Focused || inside.Focused != "optimizer.py:517 wrapper, 56.0 MiB (30.0%)" || inside.Width > 0.31 || inside.Stops != 1 {
		t.Errorf("three keys lead to %+v", inside)
	}
	page.Key("Enter")
	if zoomed := look(); zoomed.Width < 0.99 || zoomed.Boxes != 6 || zoomed.Focused != inside.Focused {
		t.Errorf("zoomed in, the tree shows %+v", zoomed)
	}
	page.Key("Escape")
	if after := look(); after.Boxes != first.Boxes || after.Width != inside.Width {
		t.Errorf("after Escape the tree shows %+v", after)
	}
}
