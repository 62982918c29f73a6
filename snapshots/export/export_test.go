package export_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/export"
	"github.com/memtop/memtop/snapshots/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// written returns t in a format.
func written(t testing.TB, tr *trace.Trace, format string, o export.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := formatNamed(t, format).Write(&b, tr, o); err != nil {
		t.Fatalf("writing %s: %v", format, err)
	}
	return b.Bytes()
}

func formatNamed(t testing.TB, name string) export.Format {
	t.Helper()
	for _, f := range export.Formats() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("there is no format %q", name)
	return export.Format{}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", t.Name()[:strings.IndexByte(t.Name(), '/')], name+".golden")
	if *update {
		fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o755))
		fatal.If(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the tests with -update to write it", err)
	}
	equal.Values(t, fmt.Sprintf("differs from %s", path), strings.Split(string(want), "\n"), strings.Split(string(got), "\n"))
}

// ownScript is that of a page, which has a file of its own.
var ownScript = regexp.MustCompile(`(?s)<script>.*</script>`)

// TestFormats compares every format with its golden file. A profile is compared
// as the text that package profile makes of it: compressed bytes are unreadable.
func TestFormats(t *testing.T) {
	training := pytorchtest.TinyTraining()
	for _, f := range export.Formats() {
		t.Run(f.Name, func(t *testing.T) {
			got := written(t, training, f.Name, export.Options{})
			switch f.Name {
			case "pprof":
				got = []byte(parse(t, got).String())
			case "html":
				got = ownScript.ReplaceAll(got, []byte("<script>page.js</script>"))
			}
			golden(t, f.Name, ends(got))
		})
	}
}

// ends leaves out the middle of what has a line for every event: a change of the
// format shows at either end.
func ends(text []byte) []byte {
	const kept = 60
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) <= 2*kept+1 {
		return text
	}
	short := append(bytes.Join(lines[:kept], nil), "...\n"...)
	return append(short, bytes.Join(lines[len(lines)-kept:], nil)...)
}

func parse(t *testing.T, data []byte) *profile.Profile {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatalf("reading the profile back: %v", err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatalf("the profile is not valid: %v", err)
	}
	return p
}

func TestFormatOfAPath(t *testing.T) {
	tests := map[string]struct{ path, want string }{
		"the usual extension of a profile":        {"out.pb.gz", "pprof"},
		"a page":                                  {"dir.csv/out.html", "html"},
		"a page in capitals":                      {"OUT.HTML", "html"},
		"the report":                              {"out.json", "json"},
		"the longer of two extensions":            {"out.trace.json", "perfetto"},
		"a trace of Perfetto":                     {"run.perfetto.json", "perfetto"},
		"an extension that nobody knows":          {"out.svg", ""},
		"a name without an extension":             {"csv", ""},
		"an extension in the middle of the name":  {"out.csv.bak", ""},
		"gzip alone does not say what is in it":   {"out.gz", ""},
		"a file that is nothing but an extension": {".folded", "folded"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := export.ForPath(test.path, export.Formats())
			if got.Name != test.want || ok != (test.want != "") {
				t.Errorf("%s: got %q (%v), want %q", test.path, got.Name, ok, test.want)
			}
		})
	}
}
