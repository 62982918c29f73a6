// Package browsertest shows pages in a headless Chromium, to test how browsers
// show our files.
package browsertest

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// deadline is how long a browser may take. It is generous: the race detector and
// a busy machine are slow.
const deadline = time.Minute

// chromiums are the names under which the browser is installed.
var chromiums = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chromium-headless-shell"}

// outer is a page that writes ours into a frame: what our page's policy refuses
// of ours does not hold for the test. What it found is its title.
const outer = `<!doctype html><meta charset="utf-8"><iframe style="border:0;height:900px;width:WIDTHpx"></iframe><script>
const frame = document.querySelector("iframe"), page = frame.contentWindow, problems = []
page.document.open()
page.addEventListener("error", event => problems.push(String(event.message)))
page.addEventListener("securitypolicyviolation", event => problems.push("refused " + event.effectiveDirective + " " + event.blockedURI))
page.document.write(PAGE)
page.document.close()
addEventListener("load", () => setTimeout(() => {
  let value = null
  try { value = (FUNCTION)(page, page.document) } catch (error) { problems.push(error.stack) }
  for (const {name} of page.performance.getEntriesByType("resource")) problems.push("asked for " + name)
  document.title = encodeURIComponent(JSON.stringify({value, problems}))
  document.body.replaceChildren()
}))
</script>`

var title = regexp.MustCompile(`<title>(.*)</title>`)

// Window is what a page is shown in.
type Window struct {
	Width int  // in pixels
	Dark  bool // whether its user prefers dark colours
}

// Look shows a page and calls a function of JavaScript with the page's window
// and document, whose answer it stores in into. It returns the page's problems:
// exceptions, files that it asked for, and what its policy refused. Without
// a Chromium it skips the test.
func Look(t testing.TB, page string, window Window, function string, into any) (problems []string) {
	t.Helper()
	text, err := json.Marshal(page) // which escapes <, so that no script of the page ends ours
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "outer.html")
	replaced := strings.NewReplacer("WIDTH", strconv.Itoa(window.Width), "PAGE", string(text), "FUNCTION", function).Replace(outer)
	if err := os.WriteFile(file, []byte(replaced), 0o600); err != nil {
		t.Fatal(err)
	}
	scheme := "--blink-settings=preferredColorScheme=1"
	if window.Dark {
		scheme = "--blink-settings=preferredColorScheme=0"
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	shown, err := exec.CommandContext(ctx, find(t), "--headless", "--dump-dom", "--virtual-time-budget=1000",
		"--enable-blink-features=ComputedAccessibilityInfo", scheme,
		"--window-size=1400,900", "--user-data-dir="+folder, "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
		"--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
		"--no-sandbox", // which root cannot have
		"file://"+file).Output()
	if err != nil {
		t.Fatalf("the browser: %v", err)
	}
	found := title.FindSubmatch(shown)
	if found == nil {
		t.Fatalf("the browser shows %q", shown)
	}
	answer, err := url.PathUnescape(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	var both struct {
		Value    json.RawMessage
		Problems []string
	}
	if err := json.Unmarshal([]byte(answer), &both); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(both.Value, into); err != nil {
		t.Fatalf("the answer is %s, with the problems %q: %v", both.Value, both.Problems, err)
	}
	return both.Problems
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range chromiums {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("no browser to look at the page with: none of %v is installed", chromiums)
	return ""
}
