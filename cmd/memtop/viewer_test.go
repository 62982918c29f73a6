package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/browsertest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// What PyTorch's viewer makes of our files. The viewer is no part of this
// project: MEMTOP_MEMORYVIZ is its script, torch/utils/viz/MemoryViz.js of
// PyTorch's source, and MEMTOP_D3 a folder with the d3.js of each version that it
// may import, as d3v5/dist/d3.js. `make viewer` sets both.

const viewerURL = "https://viewer.test/"

// viewerImport is how the script imports d3: from the network.
var viewerImport = regexp.MustCompile(`(?m)^import (?:\* as )?(.+) from "https://[^"]*/d3[^"@]*@(\d+)[^"]*";$`)

// openInViewer opens a snapshot in the viewer, with one of its kinds of plot. The
// script's imports are replaced by the d3 that they name; nothing else of it is
// changed.
func openInViewer(t *testing.T, browser *browsertest.Browser, snapshot []byte, plot string) *browsertest.Page {
	t.Helper()
	script, err := os.ReadFile(os.Getenv("MEMTOP_MEMORYVIZ"))
	if err != nil {
		t.Fatal(err)
	}
	imports := viewerImport.FindAllSubmatch(script, -1)
	if len(imports) == 0 {
		t.Fatal("MEMTOP_MEMORYVIZ is no viewer that this test knows: it does not import d3")
	}
	// The first import is d3 itself, whose number is that of PyTorch's d3; its parts have their own.
	d3, err := os.ReadFile(filepath.Join(os.Getenv("MEMTOP_D3"), "d3v"+string(imports[0][2]), "dist/d3.js"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := json.Marshal([]map[string]string{{"name": "snapshot.pickle", "base64": base64.StdEncoding.EncodeToString(padded(snapshot))}})
	if err != nil {
		t.Fatal(err)
	}
	page := fmt.Sprintf(`<!doctype html><script src="d3.js"></script><body><script type="module">
import {add_local_files} from "./MemoryViz.js"
add_local_files(%s, %q)
</script>`, files, plot)
	return browser.Open(t, viewerURL, map[string]browsertest.File{
		viewerURL:                  {Type: "text/html", Content: page},
		viewerURL + "d3.js":        {Type: "text/javascript", Content: string(d3)},
		viewerURL + "MemoryViz.js": {Type: "text/javascript", Content: string(viewerImport.ReplaceAll(script, []byte("const $1 = globalThis.d3;")))},
		viewerURL + "favicon.ico":  {Type: "image/x-icon"},
	})
}

// padded is how trace_plot pads a pickle.
func padded(pickle []byte) []byte {
	return append(bytes.Clone(pickle), make([]byte, 3-len(pickle)%3)...)
}

// savedByTrainer returns what memtrain --snapshot writes.
func savedByTrainer(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.pickle")
	if out, err := commandNamed(t, trainer, "--steps", "3", "--snapshot", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return contents(t, path)
}

// takenByMemtop returns what memtop snapshot has a process write that has
// trained for some steps.
func takenByMemtop(t *testing.T) []byte {
	t.Helper()
	t.Setenv("MEMTOP_DIR", filepath.Join(t.TempDir(), "sockets"))
	process := commandNamed(t, trainer, "--steps", "0", "--json")
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = process.Process.Kill(); _ = process.Wait() }()
	lines := bufio.NewScanner(out)
	for range 3 {
		if !lines.Scan() {
			t.Fatalf("the trainer ended: %v", lines.Err())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // until the process ends
	path := filepath.Join(t.TempDir(), "s.pickle")
	if out, err := commandNamed(t, "memtop", "snapshot", strconv.Itoa(process.Process.Pid), "-o", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return contents(t, path)
}

// commandNamed runs the test binary as one of our programs; see TestMain.
func commandNamed(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if name == trainer {
		args = append([]string{"--layers", "2", "--dim", "64", "--seq", "32", "--batch", "2"}, args...)
	}
	command := exec.CommandContext(t.Context(), path)
	command.Args = append([]string{name}, args...)
	return command
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// drawn is what the viewer shows: how many areas it fills with each colour, the
// colour of each category in its legend, and the first of these.
type drawn struct {
	Areas  map[string]int
	Legend map[string]string
	First  string
}

const lookAtPlot = `(() => {
  const areas = {}, legend = {}
  for (const p of document.querySelectorAll('polygon')) {
    if (p.__data__) areas[p.getAttribute('fill')] = (areas[p.getAttribute('fill')] || 0) + 1
  }
  const key = [...document.querySelectorAll('rect[width="10"]')]
  document.querySelectorAll('text[font-family="helvetica"]').forEach((text, i) => { legend[text.textContent] = key[i].getAttribute('fill') })
  return {Areas: areas, Legend: legend, First: key[0].getAttribute('fill')}
})()`

// allocations counts, by category, what the viewer has an area for: what was
// allocated, and what was held before. Of the latter it knows only what was freed.
func allocations(t *testing.T, data []byte) map[string]int {
	t.Helper()
	tr, err := pytorch.Decode(t.Context(), bytes.NewReader(data), pytorch.Options{Total: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	d := &tr.Devices[0]
	life := trace.NewLifetimes()
	life.Advance(d.Events)
	life.Finish(&d.Final)
	counts := make(map[string]int)
	count := func(id trace.AllocationID) {
		name := tr.Tables.String(tr.Tables.Notes[life.AllocationAt(id, trace.Never).Note].Category)
		if _, held := id.Held(); name == "" || held && life.Allocation(id).Close == trace.Never {
			name = "unknown"
		}
		counts[name]++
	}
	for k := range life.Held {
		count(trace.HeldID(k))
	}
	for i := range d.Events.Len() {
		if d.Events.At(i).Kind == trace.Alloc {
			count(trace.AllocationID(i))
		}
	}
	return counts
}

// TestThePyTorchViewerShowsOurSnapshots opens our snapshots in PyTorch's viewer:
// each allocation must have an area in the colour that the legend gives its
// category, and every plot must be drawn.
func TestThePyTorchViewerShowsOurSnapshots(t *testing.T) {
	if os.Getenv("MEMTOP_MEMORYVIZ") == "" {
		t.Skip("MEMTOP_MEMORYVIZ does not name PyTorch's viewer; see make viewer")
	}
	browser := browsertest.Start(t)
	for name, data := range map[string][]byte{"memtrain": savedByTrainer(t), "memtop snapshot": takenByMemtop(t)} {
		t.Run(name, func(t *testing.T) {
			page := openInViewer(t, browser, data, "Active Memory Timeline")
			noProblems(t, page)
			var got drawn
			page.Evaluate(lookAtPlot, &got)
			want := make(map[string]int)
			for category, n := range allocations(t, data) {
				want[got.Legend[category]] += n
			}
			want[got.First]++ // one area stands for all small allocations
			if diff := cmp.Diff(want, got.Areas); diff != "" {
				t.Errorf("areas by colour, with the legend %v, differ (-want +got):\n%s", got.Legend, diff)
			}
			if len(got.Areas) < 4 {
				t.Errorf("only %d colours are used", len(got.Areas))
			}
			t.Logf("%d colours: %v of the legend %v", len(got.Areas), got.Areas, got.Legend)
			if folder := os.Getenv("MEMTOP_SCREENSHOTS"); folder != "" {
				if err := os.WriteFile(filepath.Join(folder, name+".png"), page.Screenshot(), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
		for _, plot := range []string{"Allocator State History", "Active Cached Segment Timeline"} {
			t.Run(name+", "+plot, func(t *testing.T) {
				page := openInViewer(t, browser, data, plot)
				var shapes int
				page.Evaluate("new Promise(done => requestAnimationFrame(() => done(document.querySelectorAll('polygon, rect').length)))", &shapes)
				if noProblems(t, page); shapes < 10 {
					t.Errorf("only %d shapes are drawn", shapes)
				}
			})
		}
	}
}

func noProblems(t *testing.T, page *browsertest.Page) {
	t.Helper()
	for _, problem := range page.Problems() {
		t.Error(problem)
	}
}
