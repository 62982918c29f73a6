package export_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/browsertest"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/export"
	"github.com/memtop/memtop/snapshots/quantity"
)

const pageURL = "https://page.test/"

// open shows a page in a browser.
func open(t *testing.T, b *browsertest.Browser, page string) *browsertest.Page {
	t.Helper()
	return b.Open(t, pageURL, map[string]browsertest.File{
		pageURL:                 {Type: "text/html", Content: page},
		pageURL + "favicon.ico": {Type: "image/x-icon"}, // which the browser asks for by itself
	})
}

// shown is what a page's first timeline shows.
type shown struct {
	Now      string
	Values   map[string]string // by the legend's names
	From, To string            // the events in view
	Cursor   float64           // where it stands, or -1
	Band     string            // the path of the first band
	Button   bool              // the one that shows the whole timeline
	Left     float64           // of the picture in the window
	Top      float64
	Width    float64
}

func look(page *browsertest.Page) shown {
	var s shown
	page.Evaluate(`(() => {
  const figure = document.querySelector("figure"), box = figure.querySelector("svg").getBoundingClientRect()
  const cursor = figure.querySelector(".cursor"), values = {}
  for (const item of figure.querySelectorAll("li")) {
    const value = item.querySelector("output").textContent
    values[item.textContent.slice(0, -value.length).trim()] = value
  }
  return {
    Now: figure.querySelector(".now").textContent, Values: values,
    From: figure.querySelector(".from").textContent, To: figure.querySelector(".to").textContent,
    Cursor: cursor.style.display == "none" ? -1 : Number(cursor.getAttribute("x1")),
    Band: figure.querySelector("path").getAttribute("d"), Button: !figure.querySelector("button").hidden,
    Left: box.left, Top: box.top, Width: box.width,
  }
})()`, &s)
	return s
}

// TestPagesInABrowser opens pages in one browser: to start it takes longest.
func TestPagesInABrowser(t *testing.T) {
	browser := browsertest.Start(t)
	t.Run("timelines answer to the mouse", func(t *testing.T) { answersToTheMouse(t, browser) })
	t.Run("hostile names stay text", func(t *testing.T) { hostileStaysText(t, browser) })
	t.Run("everyone can read them", func(t *testing.T) { everyoneCanRead(t, browser) })
	t.Run("stacks answer to keys", func(t *testing.T) { stacksAnswerToKeys(t, browser) })
	t.Run("the policy stops foreign scripts", func(t *testing.T) { policyStopsScripts(t, browser) })
}

// answersToTheMouse moves over, drags over and clicks on a timeline in
// a browser, and compares what it then says with the trace.
func answersToTheMouse(t *testing.T, browser *browsertest.Browser) {
	t.Helper()
	tr := pytorchtest.TinyTraining()
	x := analysis.NewIndex(tr, &tr.Devices[0])
	page := open(t, browser, string(written(t, tr, "html", export.Options{})))
	page.Evaluate(`document.querySelector("svg").scrollIntoView()`, nil)
	before := look(page)
	if before.Now != "190.6 MiB live at the peak, after event 736" || before.Cursor >= 0 || before.Button {
		t.Fatalf("at first the page shows %+v", before)
	}
	at := func(share float64) (x, y float64) { return before.Left + share*before.Width, before.Top + 100 }
	move := func(share float64) shown {
		px, py := at(share)
		page.Mouse("mouseMoved", px, py, 0)
		return look(page)
	}

	for _, event := range []int{0, 100, 500, 771} {
		checkShown(t, x, event, move((float64(event)+0.5)/772))
	}
	if px, py := at(0.5); true {
		page.Mouse("mouseMoved", px, py-105, 0) // above the picture
	}
	if got := look(page); got.Now != before.Now || got.Values["activation"] != before.Values["activation"] || got.Cursor >= 0 {
		t.Errorf("when the mouse has left, the page shows %+v", got)
	}

	drag := func(from, to float64) shown {
		move(from)
		px, py := at(from)
		page.Mouse("mousePressed", px, py, 0)
		move(to)
		px, py = at(to)
		page.Mouse("mouseReleased", px, py, 0)
		return look(page)
	}
	zoomed := drag(0.2501, 0.5)
	if zoomed.From != "193" || zoomed.To != "386" || !zoomed.Button || zoomed.Band == before.Band {
		t.Errorf("zoomed in, the page shows %+v", zoomed)
	}
	checkShown(t, x, 193, move(0.001))
	checkShown(t, x, 386, move(0.999))
	kept := drag(0.5, 0.5) // a click
	move(0.9)
	if got := look(page); got.Now != kept.Now || got.Cursor != kept.Cursor {
		t.Errorf("the cursor that a click keeps moves from %v to %v", kept.Cursor, got.Cursor)
	}
	page.Key("ArrowRight")
	if got := look(page); got.Now == kept.Now || got.Cursor <= kept.Cursor {
		t.Errorf("after an arrow key the cursor stands at %v", got.Cursor)
	}
	page.Key("Escape")
	if got := look(page); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("in the end the page shows %+v, at first it did %+v", got, before)
	}
	for _, problem := range page.Problems() {
		t.Error(problem)
	}
}

// checkShown compares what a timeline says of an event with the trace.
func checkShown(t *testing.T, x *analysis.Index, event int, got shown) {
	t.Helper()
	time := float64(x.Device().Events.At(event).Time-x.Device().Events.At(0).Time) / 1e6
	if want := fmt.Sprintf("After event %d, at %.3f s: %s live", event, time, quantity.Bytes(x.RequestedAt(event))); got.Now != want {
		t.Errorf("at event %d the page says %q, want %q", event, got.Now, want)
	}
	now := x.Timeline(analysis.ByCategory, event, event+1, 1)
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

// hostileStaysText opens pages of all kinds of traces: nothing but our
// script runs, and nothing is asked for.
func hostileStaysText(t *testing.T, browser *browsertest.Browser) {
	t.Helper()
	for name, figures := range map[string]int{"hostile": 1, "two devices": 2, "no events": 0} {
		page := open(t, browser, string(written(t, traces()[name], "html", export.Options{})))
		for _, problem := range page.Problems() {
			t.Errorf("%s: %s", name, problem)
		}
		var got struct {
			Scripts, Figures int
			Text             string
		}
		page.Evaluate(`({Scripts: document.querySelectorAll("script:not([type])").length,
			Figures: document.querySelectorAll("figure .cursor").length, Text: document.body.textContent})`, &got)
		if got.Scripts != 1 || got.Figures != figures || name == "hostile" && !strings.Contains(got.Text, "</title><script src=") {
			t.Errorf("%s: %d scripts and %d timelines, want 1 and %d, in %q", name, got.Scripts, got.Figures, figures, got.Text)
		}
	}
}

// policyStopsScripts puts into a page what escaping keeps out: the
// browser must refuse each.
func policyStopsScripts(t *testing.T, browser *browsertest.Browser) {
	t.Helper()
	foreign := []string{
		`<script>document.title = "taken"</script>`, `<img src="https://elsewhere.test/i.png">`,
		`<script src="https://elsewhere.test/a.js"></script>`, `<svg onload="document.title = 'taken'"></svg>`,
		`<link rel="stylesheet" href="https://elsewhere.test/a.css">`,
		`<iframe srcdoc="<script>parent.document.title = 'taken'</script>"></iframe>`,
	}
	page := string(written(t, pytorchtest.TinyTraining(), "html", export.Options{}))
	p := open(t, browser, strings.Replace(page, "<h1>", strings.Join(foreign, "")+"<h1>", 1))
	var title string
	p.Evaluate("document.title", &title)
	refused := 0
	for _, problem := range p.Problems() {
		if strings.Contains(problem, "Content Security Policy") {
			refused++
		} else {
			t.Error(problem)
		}
	}
	if title == "taken" || refused < len(foreign) {
		t.Errorf("%d of %d were refused, and the title is %q", refused, len(foreign), title)
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
