//go:build unix

package gauge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestTheDriversProgramIsRead has scripts for nvidia-smi that print what it does.
func TestTheDriversProgramIsRead(t *testing.T) {
	const alone = "GPU-1, NVIDIA H200, 00000000:01:00.0, Disabled, 143771, 100000, 97, 61, 350.50"
	const here = "GPU-1, 7, 500\nGPU-2, 9, 40\nGPU-1, 8, 300"
	tests := map[string]struct {
		cards, users string
		want         []trace.Gauge
		reason       string
	}{
		"a card and its processes": {
			alone, here,
			[]trace.Gauge{{Total: 143771 << 20, Used: 43771 << 20, Process: 500 << 20, Others: 300 << 20, Utilisation: 97, Temperature: 61, Power: 350500, Users: []trace.User{{PID: 8, Bytes: 300 << 20}}}},
			"",
		},
		"what it does not know": {
			"GPU-1, T4, 00000000:01:00.0, [N/A], 15360, 15000, [N/A], 40, [Not Supported]", "GPU-1, 7, [N/A]",
			[]trace.Gauge{{Total: 15360 << 20, Used: 360 << 20, Process: unknown, Utilisation: unknown, Temperature: 40, Power: unknown}},
			"",
		},
		"nothing runs": {alone, "", nil, "the driver finds process 7 on no card"},
		"a card that is divided": {
			"GPU-1, A100, 00000000:01:00.0, Enabled, 40960, 40000, [N/A], 40, 60.1", here, nil, "which only a memtop that was built with CGO_ENABLED=1 reads",
		},
		"no right to its memory": {
			"GPU-1, A100, 00000000:01:00.0, Disabled, [Insufficient Permissions], [Insufficient Permissions], 1, 40, 60.1", "", nil,
			"nvidia-smi says of its memory: [Insufficient Permissions] in all",
		},
		"memory of the machine": {
			"GPU-1, NVIDIA GB10, 000F:01:00.0, [N/A], [N/A], [N/A], 5, 40, 12.5", here,
			[]trace.Gauge{{Unified: true, Process: 500 << 20, Others: 300 << 20, Utilisation: 5, Temperature: 40, Power: 12500, Users: []trace.User{{PID: 8, Bytes: 300 << 20}}}},
			"",
		},
		"another form": {"GPU-1", here, nil, `nvidia-smi printed "GPU-1", want 9 columns`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := script(t, fmt.Sprintf("case $1 in --query-gpu=*) echo '%s';; *) printf '%%s' '%s';; esac", test.cards, test.users))
			got, err := (&Reader{library: smi{path}}).Read(Program{PID: 7, Devices: []int{0}})
			if text := errorText(err); test.reason == "" && text != "" || !strings.Contains(text, test.reason) {
				t.Errorf("the reason is %q, want %q", text, test.reason)
			}
			equal.Values(t, "the gauges", test.want, ofTheMachine(t, got), cmpopts.IgnoreFields(trace.Gauge{}, "Time"), uncommanded)
		})
	}
}

func TestADriverThatDoesNotAnswerItsProgramSaysWhy(t *testing.T) {
	path := script(t, "echo 'Failed to initialize NVML: Driver/library version mismatch'; echo more; exit 18")
	t.Setenv("PATH", filepath.Dir(path))
	want := "nvidia-smi: exit status 18: Failed to initialize NVML: Driver/library version mismatch"
	if l, err := openSMI(); errorText(err) != want || l != (smi{path}) {
		t.Errorf("got %v of %v, want %s", err, l, want)
	}
}

func TestAMachineWithoutTheProgramSaysHowToGetGauges(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	defer func(places []string) { smiPlaces = places }(smiPlaces)
	smiPlaces = nil
	if _, err := openSMI(); !strings.Contains(errorText(err), "NVIDIA_DRIVER_CAPABILITIES=utility") {
		t.Errorf("got %v", err)
	}
}

// script makes an nvidia-smi.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	return path
}
