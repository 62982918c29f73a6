package export_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/browsertest"
	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/export"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// inBrowser calls a function with a page of a trace, and expects no problem of it.
func inBrowser(t *testing.T, tr *trace.Trace, o export.Options, function string, into any) {
	t.Helper()
	page := string(written(t, tr, "html", o))
	for _, problem := range browsertest.Look(t, page, browsertest.Window{Width: 1000}, function, into) {
		t.Error(problem)
	}
}

// shown is what a page's first timeline shows.
type shown struct {
	Now      string
	Values   map[string]string // by the legend's names
	From, To string            // the events in view
	Cursor   float64           // where it stands, or -1
	Band     string            // the path of the first band
	Button   bool              // the one that shows the whole timeline
}

// used moves over a timeline, drags over it, clicks on it and presses keys, and
// returns what the timeline then shows.
const used = `(page, document) => {
  const figure = document.querySelector("figure"), svg = figure.querySelector("svg")
  const look = () => {
    const cursor = figure.querySelector(".cursor"), Values = {}
    for (const item of figure.querySelectorAll("li")) {
      const value = item.querySelector("output").textContent
      Values[item.textContent.slice(0, -value.length).trim()] = value
    }
    return {
      Now: figure.querySelector(".now").textContent, Values,
      From: figure.querySelector(".from").textContent, To: figure.querySelector(".to").textContent,
      Cursor: cursor.style.display == "none" ? -1 : Number(cursor.getAttribute("x1")),
      Band: figure.querySelector("path").getAttribute("d"), Button: !figure.querySelector("button").hidden,
    }
  }
  const mouse = (kind, share) => {
    const box = svg.getBoundingClientRect(), clientX = box.left + share * box.width
    document.elementFromPoint(clientX, box.top + 100).dispatchEvent(new page.PointerEvent("pointer" + kind, {bubbles: true, clientX}))
    return look()
  }
  const drag = (from, to) => [["move", from], ["down", from], ["move", to], ["up", to]].map(([kind, share]) => mouse(kind, share)).pop()
  const key = key => {
    document.activeElement.dispatchEvent(new page.KeyboardEvent("keydown", {bubbles: true, key}))
    return look()
  }
  svg.setPointerCapture = () => {} // which is refused without a mouse
  svg.scrollIntoView()
  svg.focus()
  const all = {Before: look(), Moved: [0, 100, 500, 771].map(event => mouse("move", (event + 0.5) / 772))}
  svg.dispatchEvent(new page.PointerEvent("pointerleave"))
  all.Left = look()
  all.Zoomed = drag(0.2501, 0.5)
  all.Inside = [mouse("move", 0.001), mouse("move", 0.999)]
  all.Clicked = drag(0.5, 0.5)
  all.Kept = mouse("move", 0.9)
  return {...all, Right: key("ArrowRight"), Escaped: key("Escape")}
}`

// TestPagesInABrowserAnswerToTheMouse compares what a timeline says with the trace.
func TestPagesInABrowserAnswerToTheMouse(t *testing.T) {
	tr := pytorchtest.TinyTraining()
	x := analysis.NewIndex(tr, &tr.Devices[0])
	var got struct {
		Before, Left, Zoomed, Clicked, Kept, Right, Escaped shown
		Moved, Inside                                       []shown
	}
	inBrowser(t, tr, export.Options{}, used, &got)
	if b := got.Before; b.Now != "190.6 MiB live at the peak, after event 736" || b.Cursor >= 0 || b.Button {
		t.Errorf("at first the page shows %+v", b)
	}
	for i, event := range []int{0, 100, 500, 771} {
		checkShown(t, x, event, got.Moved[i])
	}
	equal.Values(t, "when the mouse has left, the page", got.Left, got.Before)
	if z := got.Zoomed; z.From != "193" || z.To != "386" || !z.Button || z.Band == got.Before.Band {
		t.Errorf("zoomed in, the page shows %+v", z)
	}
	checkShown(t, x, 193, got.Inside[0])
	checkShown(t, x, 386, got.Inside[1])
	equal.Values(t, "after a click and a move, the page", got.Kept, got.Clicked)
	if got.Right.Now == got.Kept.Now || got.Right.Cursor <= got.Kept.Cursor {
		t.Errorf("after an arrow key the cursor stands at %v", got.Right.Cursor)
	}
	equal.Values(t, "in the end the page", got.Escaped, got.Before)
}

// checkShown compares what a timeline says of an event with the trace.
func checkShown(t *testing.T, x *analysis.Index, event int, got shown) {
	t.Helper()
	time := float64(x.Device().Events.At(event).Time-x.Device().Events.At(0).Time) / 1e6
	if want := fmt.Sprintf("After event %d, at %.3f s: %s live", event, time, quantity.Bytes(x.RequestedAt(event))); got.Now != want {
		t.Errorf("at event %d the page says %q, want %q", event, got.Now, want)
	}
	now := x.Timeline(event, event+1, 1)
	for b, bytes := range now.Columns[0].Bands {
		if value, ok := got.Values[now.Bands[b].Name]; ok && value != quantity.Bytes(bytes) || !ok && bytes > 0 {
			t.Errorf("at event %d the page says %q of %s, want %s", event, value, now.Bands[b].Name, quantity.Bytes(bytes))
		}
	}
	if want := quantity.Bytes(x.ReservedAt(event)); got.Values["reserved"] != want {
		t.Errorf("at event %d the page says %q of reserved memory, want %s", event, got.Values["reserved"], want)
	}
	if got.Cursor < 0 {
		t.Errorf("at event %d there is no cursor", event)
	}
}

// TestPagesInABrowserKeepHostileNamesText opens pages of all kinds of traces: nothing
// but our script runs, and nothing is asked for.
func TestPagesInABrowserKeepHostileNamesText(t *testing.T) {
	for name, figures := range map[string]int{"hostile": 1, "two devices": 2, "no events": 0} {
		var got struct {
			Scripts, Figures int
			Text             string
		}
		inBrowser(t, traces()[name], export.Options{}, `(page, document) => ({Scripts: document.querySelectorAll("script:not([type])").length,
			Figures: document.querySelectorAll("figure .cursor").length, Text: document.body.textContent})`, &got)
		if got.Scripts != 1 || got.Figures != figures || name == "hostile" && !strings.Contains(got.Text, "</title><script src=") {
			t.Errorf("%s: %d scripts and %d timelines, want 1 and %d, in %q", name, got.Scripts, got.Figures, figures, got.Text)
		}
	}
}

// TestPagesInABrowserRunNoForeignScript puts into a page what escaping keeps out: the
// browser must refuse each.
func TestPagesInABrowserRunNoForeignScript(t *testing.T) {
	foreign := []string{
		`<script>document.title = "taken"</script>`, `<img src="https://elsewhere.test/i.png">`,
		`<script src="https://elsewhere.test/a.js"></script>`, `<svg onload="document.title = 'taken'"></svg>`,
		`<link rel="stylesheet" href="https://elsewhere.test/a.css">`,
		`<iframe srcdoc="<script>parent.document.title = 'taken'</script>"></iframe>`,
	}
	page := string(written(t, pytorchtest.TinyTraining(), "html", export.Options{}))
	page = strings.Replace(page, "<h1>", strings.Join(foreign, "")+"<h1>", 1)
	var title string
	problems := browsertest.Look(t, page, browsertest.Window{Width: 1000}, `(page, document) => document.title`, &title)
	refused := slices.DeleteFunc(problems, func(p string) bool { return !strings.HasPrefix(p, "refused ") })
	if title == "taken" || len(refused) != len(foreign)-1 { // the inner frame hears of its own
		t.Errorf("the title is %q, and of %d refused were %q", title, len(foreign), refused)
	}
}

// reading is what a browser says of how a page can be read.
type reading struct {
	Width    int      // of the page, with what hangs over
	Headings []int    // their levels, in their order
	Faint    []string // texts with a contrast of less than 4.5, as WCAG 2.1 wants of AA
}

// readings measures the colours as WCAG 2.1 defines contrast. A box without a
// background shows the one of the box around it.
const readings = `(page, document) => {
  const numbers = color => color.match(/[\d.]+/g).map(Number)
  const ground = node => {
    for (; node; node = node.parentElement) {
      const color = numbers(page.getComputedStyle(node).backgroundColor)
      if (color.length < 4 || color[3] > 0) return color
    }
    return page.matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255]
  }
  const light = color => color.slice(0, 3).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0)
  const faint = new Set(), walk = document.createTreeWalker(document.body, page.NodeFilter.SHOW_TEXT)
  while (walk.nextNode()) {
    const box = walk.currentNode.parentElement
    if (!walk.currentNode.textContent.trim() || box.closest("script, svg")) continue
    const [a, b] = [light(numbers(page.getComputedStyle(box).color)), light(ground(box))].sort((a, b) => b - a)
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.add(box.tagName + "." + box.className + ": " + walk.currentNode.textContent)
  }
  return {
    Width: document.documentElement.scrollWidth, Faint: [...faint],
    Headings: [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map(h => Number(h.tagName[1])),
  }
}`

// TestPagesInABrowserAreReadable opens pages on a telephone in light colours, and on
// a desk in dark ones.
func TestPagesInABrowserAreReadable(t *testing.T) {
	for name, tr := range traces() {
		page := string(written(t, tr, "html", export.Options{AtAnswer: true}))
		for _, window := range []browsertest.Window{{Width: 360}, {Width: 1280, Dark: true}} {
			var got reading
			browsertest.Look(t, page, window, readings, &got)
			if got.Width > window.Width || len(got.Faint) > 0 {
				t.Errorf("%s in %+v: %d wide, faint %q", name, window, got.Width, got.Faint)
			}
			before := 0
			for _, level := range got.Headings {
				if level > before+1 || level == 1 && before > 0 {
					t.Errorf("%s: headings of the levels %v", name, got.Headings)
				}
				before = level
			}
		}
		checkSpoken(t, name, page)
	}
}

// spoken are the roles and names that a screen reader tells of, of a tree's first
// boxes only: to compute them takes long.
const spoken = `(page, document) => [...document.querySelectorAll("main, footer, nav, a, button, h1, h2, h3, h4, table, th, [role]")]
  .filter(e => e.checkVisibility() && !e.matches(".flame li li li"))
  .map(e => ({Role: e.computedRole, Name: e.computedName.trim()}))`

// checkSpoken looks for the roles of a page, and for a name of each thing that is
// more than text.
func checkSpoken(t *testing.T, name, page string) {
	t.Helper()
	var all []struct{ Role, Name string }
	browsertest.Look(t, page, browsertest.Window{Width: 1280}, spoken, &all)
	var roles []string
	for _, s := range all {
		roles = append(roles, s.Role)
		if s.Name == "" && slices.Contains([]string{"slider", "img", "image", "tree", "treeitem", "button", "table", "navigation", "heading", "link", "columnheader", "rowheader"}, s.Role) {
			t.Errorf("%s: a %s without a name", name, s.Role)
		}
	}
	want := map[string][]string{
		"training":    {"slider", "tree", "treeitem", "table", "rowheader", "columnheader"},
		"two devices": {"navigation", "link"},
	}
	for _, role := range append(want[name], "main", "contentinfo") {
		if !slices.Contains(roles, role) {
			t.Errorf("%s: no %s among %q", name, role, slices.Compact(slices.Sorted(slices.Values(roles))))
		}
	}
}

// inStacks goes down a tree of stacks by keys, and zooms.
const inStacks = `(page, document) => {
  const tree = document.querySelector(".flame")
  const press = key => {
    document.activeElement.dispatchEvent(new page.KeyboardEvent("keydown", {bubbles: true, key}))
    const focused = document.activeElement
    return {Named: document.querySelector(".named").textContent, Focused: focused.getAttribute("aria-label") || "",
      Boxes: tree.querySelectorAll("li:not(.out)").length, Width: focused.getBoundingClientRect().width / tree.getBoundingClientRect().width,
      Stops: tree.querySelectorAll("[tabindex='0']").length}
  }
  tree.querySelector("li").focus()
  return ["Shift", "ArrowRight", "ArrowDown", "ArrowRight", "Enter", "Escape"].map(press)
}`

func TestPagesInABrowserHaveKeysForStacks(t *testing.T) {
	var got []struct {
		Named, Focused string
		Boxes          int     // that are shown
		Width          float64 // of the focused box, as part of the tree
		Stops          int     // of Tab in the tree
	}
	inBrowser(t, pytorchtest.TinyTraining(), export.Options{AtAnswer: true}, inStacks, &got)
	first, inside, zoomed, after := got[0], got[3], got[4], got[5]
	if first.Focused != "all, 186.6 MiB (100.0%)" || first.Stops != 1 {
		t.Errorf("the tree begins with %+v", first)
	}
	if inside.Named != inside.Focused || inside.Focused != "optimizer.py:517 wrapper, 56.0 MiB (30.0%)" || inside.Width > 0.31 || inside.Stops != 1 {
		t.Errorf("three keys lead to %+v", inside)
	}
	if zoomed.Width < 0.99 || zoomed.Boxes != 6 || zoomed.Focused != inside.Focused {
		t.Errorf("zoomed in, the tree shows %+v", zoomed)
	}
	if after.Boxes != first.Boxes || after.Width != inside.Width {
		t.Errorf("after Escape the tree shows %+v", after)
	}
}
