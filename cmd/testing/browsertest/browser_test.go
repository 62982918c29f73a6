package browsertest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/browsertest"
)

// TestAPageIsSeenAsItIs opens a page that does everything a page of ours must
// not.
func TestAPageIsSeenAsItIs(t *testing.T) {
	const url = "https://page.test/"
	p := browsertest.Start(t).Open(t, url, map[string]browsertest.File{
		url: {"text/html", `<!doctype html><title>t</title><body style="height: 90vh" onclick="this.dataset.clicked = 1">
<script src="here.js"></script><script src="https://elsewhere.test/there.js"></script>
<script>console.error("loud"); throw new Error("thrown")</script>`},
		url + "here.js": {"text/javascript", "document.body.dataset.here = 7"},
	})
	var here string
	p.Evaluate("document.body.dataset.here", &here)
	if here != "7" {
		t.Errorf("the page's own script left %q", here)
	}
	p.Mouse("mousePressed", 100, 100, 0)
	p.Mouse("mouseReleased", 100, 100, 0)
	var clicked string
	p.Evaluate("document.body.dataset.clicked", &clicked)
	if clicked != "1" {
		t.Errorf("a click left %q", clicked)
	}
	for _, want := range []string{"asks for https://elsewhere.test/there.js", "loud", "thrown"} {
		if !slices.ContainsFunc(p.Problems(), func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no problem about %q in %q", want, p.Problems())
		}
	}
	if png := p.Screenshot(); !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("the screenshot begins with %q", png[:min(8, len(png))])
	}
}
