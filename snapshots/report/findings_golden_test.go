package report_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
)

var updateFindings = flag.Bool("update-findings", false, "rewrite the golden findings")

// findingsOf returns the findings of a file's devices, as sentences.
func findingsOf(t *testing.T, path string) []string {
	t.Helper()
	tr := open(t, path)
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
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

var number = regexp.MustCompile(`[0-9][0-9.,]*`)

// TestFindingsOfDifferentProgramsDiffer compares the findings of each two files, up to
// numbers. Files of the same program are not compared.
func TestFindingsOfDifferentProgramsDiffer(t *testing.T) {
	folder := pytorchtest.SharedFolder(t)
	files, err := filepath.Glob(filepath.Join(folder, "*.torch*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	// These train or run the transformer of one course, whose model is given.
	same := map[string]string{
		"training_medium_512.torch2.10.pickle": "course", "inference_medium_512.torch2.10.pickle": "course",
		"python_frames_only.torch2.10.pickle": "course", "trace_plot.torch2.10.html": "course",
		"step_amp.torch2.5.pickle": "another", "step_fp32.torch2.5.pickle": "another",
	}
	seen := make([]map[string]bool, len(files))
	for i, file := range files {
		seen[i] = make(map[string]bool)
		for _, sentence := range findingsOf(t, file) {
			seen[i][number.ReplaceAllString(sentence, "N")] = true
		}
	}
	for i := range files {
		for k := range i {
			if program := same[filepath.Base(files[i])]; program != "" && program == same[filepath.Base(files[k])] {
				continue
			}
			shared := 0
			for sentence := range seen[i] {
				if seen[k][sentence] {
					shared++
				}
			}
			if shared > 1 {
				t.Errorf("%s and %s share %d sentences", filepath.Base(files[i]), filepath.Base(files[k]), shared)
			}
		}
	}
}
