package report_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/report"
)

// expectedFile is a line of expected.jsonl.
type expectedFile struct {
	File        string           `json:"file"`
	Annotations int              `json:"annotations"`
	Devices     []map[string]any `json:"devices"`
}

func expectedFiles(tb testing.TB, dir string) []expectedFile {
	tb.Helper()
	f, err := os.Open(filepath.Join(dir, "expected.jsonl"))
	fatal.If(tb, err)
	defer f.Close()
	var files []expectedFile
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e expectedFile
		fatal.If(tb, json.Unmarshal(lines.Bytes(), &e))
		files = append(files, e)
	}
	return files
}

func TestReportEqualsTheExpectedNumbersOfRealFiles(t *testing.T) {
	dir := pytorchtest.SharedFolder(t)
	for _, want := range expectedFiles(t, dir) {
		t.Run(want.File, func(t *testing.T) {
			r := report.New(onfile.Trace(t, filepath.Join(dir, want.File)))
			text, err := json.Marshal(r)
			fatal.If(t, err)
			var got expectedFile
			fatal.If(t, json.Unmarshal(text, &got))
			if got.Annotations != want.Annotations {
				t.Errorf("annotations: got %d, want %d", got.Annotations, want.Annotations)
			}
			if len(got.Devices) != len(want.Devices) {
				t.Fatalf("got %d devices, want %d", len(got.Devices), len(want.Devices))
			}
			for i := range want.Devices {
				for key := range got.Devices[i] {
					if _, ok := want.Devices[i][key]; !ok {
						delete(got.Devices[i], key)
					}
				}
				equal.Values(t, fmt.Sprintf("device %d", i), want.Devices[i], got.Devices[i])
			}
		})
	}
}

func TestRealFilesWrittenAgainDoNotDiffer(t *testing.T) {
	dir := pytorchtest.SharedFolder(t)
	for _, file := range expectedFiles(t, dir) {
		t.Run(file.File, func(t *testing.T) {
			tr := onfile.Trace(t, filepath.Join(dir, file.File))
			var text bytes.Buffer
			fatal.If(t, pytorch.Write(&text, tr))
			again, err := pytorch.Decode(t.Context(), &text, pytorch.Options{})
			fatal.If(t, err)
			if d := report.NewDiff(tr, again); !d.Empty() {
				var b bytes.Buffer
				_ = d.Text(&b, 100)
				t.Errorf("got\n%s", b.String())
			}
		})
	}
}

var updateFindings = flag.Bool("update-findings", false, "rewrite the golden findings")

// findingsOf returns the findings of a file's devices, as sentences.
func findingsOf(t *testing.T, path string) []string {
	t.Helper()
	tr := onfile.Trace(t, path)
	var sentences []string
	for i := range tr.Devices {
		for _, f := range analysis.NewIndex(tr, &tr.Devices[i]).Findings() {
			sentences = append(sentences, f.Kind.Name+": "+f.Text())
		}
	}
	return sentences
}

// TestFindingsOfRealFiles compares what is found in real files with what was
// reviewed.
func TestFindingsOfRealFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(pytorchtest.SharedFolder(t), "*.torch*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			got := strings.Join(findingsOf(t, file), "\n") + "\n"
			path := filepath.Join("testdata", "findings", filepath.Base(file)+".golden")
			if *updateFindings {
				fatal.If(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want := fatal.Read(t, path)
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
