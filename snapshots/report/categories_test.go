package report

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
)

// label says how much of a category a device has at its peak, at least and at most.
type label struct {
	low, high int64
}

// labelled is a device of a file with what is known of it.
type labelled struct {
	peak       int64
	categories map[string]label
}

// readLabels reads a table of labels: by file, by device.
func readLabels(t *testing.T, path string) map[string]map[int]*labelled {
	t.Helper()
	file, err := os.Open(path)
	fatal.If(t, err)
	defer file.Close()
	table := make(map[string]map[int]*labelled)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		row := strings.Split(lines.Text(), "\t")
		if len(row) < 7 || row[0] == "file" {
			continue
		}
		number := func(column int) int64 {
			n, err := strconv.ParseInt(row[column], 10, 64)
			if err != nil {
				t.Fatalf("%s: %q: %v", path, lines.Text(), err)
			}
			return n
		}
		if table[row[0]] == nil {
			table[row[0]] = make(map[int]*labelled)
		}
		device := int(number(1))
		if table[row[0]][device] == nil {
			table[row[0]][device] = &labelled{number(3), make(map[string]label)}
		}
		table[row[0]][device].categories[row[4]] = label{number(5), number(6)}
	}
	fatal.If(t, lines.Err())
	return table
}

// TestCategoriesOfLabelledFiles compares the report with labels made by hand: half of
// the bytes outside of their ranges, over the peak, is the share that is mislabelled.
// $MEMTOP_LABELS names another table than categories.tsv of the folder.
func TestCategoriesOfLabelledFiles(t *testing.T) {
	const worst, mean = 15.0, 5.0 // percent
	folder := pytorchtest.SharedFolder(t)
	path := os.Getenv("MEMTOP_LABELS")
	if path == "" {
		path = filepath.Join(folder, "categories.tsv")
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("no table of labels: ", err)
	}
	sum, files := 0.0, 0
	for name, devices := range readLabels(t, path) {
		share := mislabelled(t, filepath.Join(folder, name), devices)
		t.Logf("%5.1f%%  %s", share, name)
		if share > worst {
			t.Errorf("%s: %.1f%% of the bytes at the peak are mislabelled, want at most %.0f%%", name, share, worst)
		}
		sum, files = sum+share, files+1
	}
	if files == 0 || sum/float64(files) > mean {
		t.Errorf("%.1f%% are mislabelled in the mean of %d files, want at most %.0f%%", sum/float64(files), files, mean)
	}
	t.Logf("%5.1f%%  mean of %d files", sum/float64(files), files)
}

func mislabelled(t *testing.T, path string, devices map[int]*labelled) float64 {
	t.Helper()
	found := make(map[int]map[string]int64)
	for _, d := range New(onfile.Trace(t, path)).Devices {
		found[d.Device] = make(map[string]int64)
		for _, r := range d.RulesAtPeak {
			found[d.Device][r.Category.String()] += r.Bytes
		}
	}
	var wrong, peaks int64
	for number, want := range devices {
		peaks += want.peak
		for category, bytes := range found[number] {
			wrong += max(0, bytes-want.categories[category].high)
		}
		for category, known := range want.categories {
			wrong += max(0, known.low-found[number][category])
		}
	}
	return 50 * float64(wrong) / float64(peaks)
}
