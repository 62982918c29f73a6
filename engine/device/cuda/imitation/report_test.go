package imitation_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

func TestWhatTheLibrarySaid(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, bytes []byte) {
		fatal.If(t, os.WriteFile(filepath.Join(folder, name), bytes, 0o600))
	}
	const row = 1 + 6*imitation.MostDevices
	numbers := make([]uint64, 5*row) // the first is no process's, and the last two nobody has had
	numbers[row], numbers[2*row] = 7, 8
	copy(numbers[row+1+6:], []uint64{1, 1 << 20, 2 << 20, 5, 3 << 20, 2}) // of the second device
	memory, err := binary.Append(nil, binary.LittleEndian, numbers)
	fatal.If(t, err)
	write("memory", memory)
	write("7.notes", []byte("refused\tcufftPlan\tlibtorch_cuda.so\t1\nrefused\tncclX\tlibx.so\t1\nrefused\tcufftPlan\tlibtorch_cuda.so\t4\n"+
		"modelled\tcuDNN's workspace\tthe filter's bytes\nwaits\nsomething else\n"))
	got, err := imitation.ReadReport(folder)
	fatal.If(t, err)
	want := map[int]imitation.Process{
		7: {
			Devices:  []imitation.Taken{{}, {Place: 1, Now: 1 << 20, Most: 2 << 20, Refused: 5, Together: 3 << 20, Sharing: 2}},
			Gaps:     []imitation.Gap{{Function: "ncclX", Caller: "libx.so", Count: 1}, {Function: "cufftPlan", Caller: "libtorch_cuda.so", Count: 4}},
			Modelled: []string{"cuDNN's workspace: the filter's bytes"}, Waits: true,
		},
		8: {Devices: []imitation.Taken{}},
	}
	equal.Values(t, "the result", want, got)
}

func TestTheCatalogueIsWhole(t *testing.T) {
	names := make(map[string]bool)
	for _, g := range imitation.Catalogue() {
		if names[g.Name] {
			t.Errorf("%s is there twice", g.Name)
		}
		names[g.Name] = true
		if g.Total < 1<<30 || g.Total > 1<<40 || g.Processors <= 0 || g.L2 <= 0 || g.Context <= 0 || g.Channels <= 0 || g.Title == "" {
			t.Errorf("%s lacks a figure: %+v", g.Name, g)
		}
		if !strings.Contains(g.Sources, "total") || !strings.Contains(g.Sources, "context:") {
			t.Errorf("%s does not say where its figures are from: %q", g.Name, g.Sources)
		}
		for pair := range strings.SplitSeq(g.Variable(2, true), ";") {
			if key, value, _ := strings.Cut(pair, "="); value == "" || value == "0" && key != "minor" && key != "shared_reserved" {
				t.Errorf("%s says nothing of %s", g.Name, key)
			}
		}
	}
	for _, name := range []string{"t4", "v100-16gb", "a10", "a100-40gb", "a100-80gb", "l4", "l40s", "rtx3090", "rtx4090", "rtx5090", "h100-80gb", "h200", "b200"} {
		if !names[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestAGPUOfOnesOwnIsReadAsTheCatalogueIsPrinted(t *testing.T) {
	for _, g := range imitation.Catalogue() {
		text, err := json.Marshal(g)
		fatal.If(t, err)
		again, err := imitation.Describe(strings.NewReader(string(text)))
		if err != nil || again.Variable(1, false) != g.Variable(1, false) {
			t.Errorf("%s is read as %+v, %v", text, again, err)
		}
	}
}

func TestAGPUThatIsNoneIsRefused(t *testing.T) {
	const good = `{"name": "x", "title": "X", "total_bytes": 8589934592, "compute_capability": "8.6", "processors": 28, "l2_bytes": 4194304`
	g, err := imitation.Describe(strings.NewReader(good + "}"))
	if err != nil || g.Context != 28*1536*2048+64<<20 || g.Channels != 4 {
		t.Errorf("%+v, %v", g, err)
	}
	for name, text := range map[string]string{
		"nothing":               "",
		"no JSON":               "total=5",
		"an unknown field":      good + `, "memory": 5}`,
		"an unknown capability": strings.Replace(good, "8.6", "8.7", 1) + "}",
		"no memory":             strings.Replace(good, "8589934592", "0", 1) + "}",
		"no processors":         strings.Replace(good, "28", "0", 1) + "}",
		"a context of all":      good + `, "context_bytes": 8589934592}`,
		"a negative context":    good + `, "context_bytes": -1}`,
		"a title with a figure": strings.Replace(good, `"X"`, `"X;total=1"`, 1) + "}",
		"a megabyte":            good + `, "sources": "` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if g, err := imitation.Describe(strings.NewReader(text)); err == nil {
				t.Errorf("it is taken for %+v", g)
			}
		})
	}
}

// installable returns the library for this machine, and skips the test if there
// is none.
func installable(t *testing.T) []byte {
	t.Helper()
	library, err := imitation.Library.For(runtime.GOARCH)
	if runtime.GOOS != "linux" || err != nil {
		t.Skipf("no GPU is imitated on %s, %s", runtime.GOOS, runtime.GOARCH)
	}
	return library
}

func TestProgramsKeepWhatTheyLoad(t *testing.T) {
	got := imitation.Environment([]string{"A=1", "LD_PRELOAD=liba.so", "LD_LIBRARY_PATH=/lib", "B="}, "/f")
	want := []string{"A=1", "B=", "LD_PRELOAD=/f/libmemtop-imitation.so:liba.so", "LD_LIBRARY_PATH=/f:/lib"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got, want := imitation.Environment(nil, "/f"), []string{"LD_PRELOAD=/f/libmemtop-imitation.so", "LD_LIBRARY_PATH=/f"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
