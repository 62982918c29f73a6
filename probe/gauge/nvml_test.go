//go:build cgo && linux

package gauge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/snapshots/trace"
)

// answer is what a process of the test has read.
type answer struct {
	Gauges []trace.Gauge
	Users  []int
	Error  string
}

// readVariable has this test's program read the devices of process 7 instead of
// testing: a library stays in the process that loaded it.
const readVariable = "MEMTOP_TEST_READ"

func TestMain(m *testing.M) {
	if os.Getenv(readVariable) == "" {
		os.Exit(m.Run())
	}
	var a answer
	r, err := Open()
	if err == nil {
		a.Gauges, err = r.Read(Program{PID: 7, Devices: []int{0}, Environment: os.Getenv})
		a.Users, _ = r.Users()
	}
	a.Error = errorText(err)
	_ = json.NewEncoder(os.Stdout).Encode(a) // the test sees that it is not there
	os.Exit(0)
}

// standIn compiles the library that testdata describes, and returns its folder.
func standIn(t *testing.T, defines []string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to make a library with: ", err)
	}
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	if err != nil {
		t.Skip("go does not say where go-nvml's header is: ", err)
	}
	dir := t.TempDir()
	args := []string{
		"-shared", "-fPIC", "-I", filepath.Join(string(bytes.TrimSpace(module)), "pkg/nvml"),
		"testdata/nvml.c", "-o", filepath.Join(dir, "libnvidia-ml.so.1"),
	}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func TestTheDriversLibraryIsRead(t *testing.T) {
	card := trace.Gauge{
		Total: 80 * gib, Used: 1000, Process: 500, Others: 320, Utilisation: 90, Temperature: 61, Power: 350500,
		Users: []trace.User{{PID: 8, Bytes: 300}, {PID: 9, Bytes: 20}},
	}
	unified := card
	unified.Total, unified.Used, unified.Unified = 0, 0, true
	second := trace.Gauge{Total: 20 * gib, Used: 3000, Process: 700, Others: unknown, Utilisation: unknown, Temperature: unknown, Power: unknown, Users: []trace.User{{PID: 8, Bytes: unknown}}}
	tests := map[string]struct {
		defines []string
		visible string // CUDA_VISIBLE_DEVICES
		want    []trace.Gauge
		users   []int
		reason  string
	}{
		"a card":              {nil, "", []trace.Gauge{card}, []int{7, 8, 9}, ""},
		"an instance of one":  {[]string{"DIVIDED"}, "", []trace.Gauge{second}, []int{7, 8}, ""},
		"the one that is set": {[]string{"DIVIDED"}, "MIG-2", []trace.Gauge{second}, []int{7, 8}, ""},
		"no right to the list": {
			[]string{"NO_PERMISSION"}, "", nil, nil, "on no card; it does not list those on the card GPU-1: Insufficient Permissions",
		},
		"no right to instances": {
			[]string{"DIVIDED", "NO_PERMISSION"}, "", nil, nil, "of the card GPU-1: it is divided into instances (MIG), and the driver names none of them: Insufficient Permissions",
		},
		"memory of the machine":  {[]string{"UNIFIED"}, "", []trace.Gauge{unified}, []int{7, 8, 9}, ""},
		"no right to its memory": {[]string{"NO_MEMORY"}, "", nil, nil, "of the card GPU-1: the driver does not say what memory it has: Insufficient Permissions"},
		"another driver than library": {
			[]string{"MISMATCH"}, "", nil, nil, "the NVIDIA driver does not answer: Driver/library version mismatch; it was updated while it ran",
		},
		"an old driver": {
			[]string{"OLD"},
			"",
			[]trace.Gauge{{Total: 80 * gib, Used: 1000, Process: 500, Utilisation: unknown, Temperature: unknown, Power: unknown}},
			[]int{7},
			"",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := exec.Command(os.Args[0])
			p.Env = append(os.Environ(), readVariable+"=1", "LD_LIBRARY_PATH="+standIn(t, test.defines), "CUDA_VISIBLE_DEVICES="+test.visible)
			out, err := p.CombinedOutput()
			var got answer
			if err == nil {
				err = json.Unmarshal(out, &got)
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for i := range got.Gauges {
				got.Gauges[i].Time = 0
			}
			equal.Values(t, "the gauges", test.want, ofTheMachine(t, got.Gauges), uncommanded)
			if fmt.Sprint(got.Users) != fmt.Sprint(test.users) {
				t.Errorf("the processes are %v, want %v", got.Users, test.users)
			}
			if test.reason == "" && got.Error != "" || !strings.Contains(got.Error, test.reason) || strings.Contains(got.Error, "\n") {
				t.Errorf("the reason is %q, want %q", got.Error, test.reason)
			}
		})
	}
}
