package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
)

// found are processes of every kind.
var found = []attach.Process{
	{Socket: "/a/1-1.sock", Problem: &attach.NoProbeError{Socket: "/a/1-1.sock"}},
	{Socket: "/a/2-1.sock", Problem: &attach.NoProbeError{Socket: "/a/2-1.sock"}},
	{Socket: "/b/3-1.sock", Problem: &attach.NoProbeError{Socket: "/b/3-1.sock"}},
	{Socket: "/tmp/memtop-7", Problem: &attach.ForeignError{User: "alice"}},
	{Socket: "/tmp/memtop-8", Problem: &attach.ForeignError{User: "bob"}},
	{Socket: "/a/9-1.sock", Problem: &attach.PermissionError{Cause: "socket /a/9-1.sock is served by process 47, not by 9", Remedy: "do not attach"}},
	{PID: 4, Problem: &attach.SilentError{Stopped: 4}},
	{PID: 47, Problem: &attach.PermissionError{Cause: "folder /x has mode 0770", Remedy: "close it"}},
	{PID: 6, Problem: &attach.RefusedError{Cause: "process 6 is busy", Busy: true}},
	{PID: 5, Info: &protocol.Info{}},
}

func TestWhyAProcessCannotBeAttachedToIsOneLine(t *testing.T) {
	want := []string{
		"socket /a/9-1.sock is served by process 47, not by 9; do not attach",
		"process 4: does not answer: it is stopped; kill -CONT 4 lets it go on",
		"process 47: folder /x has mode 0770; close it",
		"process 6 is busy",
		"sockets left behind by ended processes: 2 in /a; the next program there removes them",
		"sockets left behind by ended processes: 1 in /b; the next program there removes them",
		"programs of other users are not listed (alice, bob); root sees them",
	}
	equal.Values(t, "the lines", want, problems(found))
}

func TestThereIsAChoiceOfWhatAnswers(t *testing.T) {
	good, silent := attach.Attachable(found)
	if got := targets(good); !cmp.Equal(got, []string{"5"}) {
		t.Errorf("there is a choice of %q", got)
	}
	if got := targets(silent); !cmp.Equal(got, []string{"4", "6"}) {
		t.Errorf("silent are %q", got)
	}
}

func TestWhereNothingAnswersTheReasonIsAProcesss(t *testing.T) {
	tests := map[string]struct {
		found []attach.Process
		code  int
	}{
		"nothing at all":            {nil, command.ExitMissing},
		"only what was left behind": {found[:6], command.ExitMissing},
		"a silent process":          {found[:7], command.ExitError},
		"one that is not trusted":   {found[:8], command.ExitPermission},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if code, line := describe(attach.NothingAttachable(test.found)); code != test.code {
				t.Errorf("it is exit code %d: %s", code, line)
			}
		})
	}
}

// targets returns how to name processes on the command line.
func targets(processes []attach.Process) []string {
	var names []string
	for _, p := range processes {
		names = append(names, p.Target())
	}
	return names
}

func TestHostsAreNamedWithCommasOrWhiteSpace(t *testing.T) {
	for text, want := range map[string]hostList{
		"a": {"a"}, "a,b": {"a", "b"}, "a\nb\n": {"a", "b"}, "a, b\t,,c": {"a", "b", "c"}, "": nil, " ,\n": nil,
	} {
		var got hostList
		fatal.If(t, got.Set(text))
		equal.Values(t, fmt.Sprintf("%q", text), want, got)
	}
}

func TestMemoryIsListedAsItIsKnown(t *testing.T) {
	at := func(age time.Duration) *int64 {
		us := time.Now().Add(-age).UnixMicro()
		return &us
	}
	for name, test := range map[string]struct {
		known       *int64
		text, bytes string
	}{
		"as it is now":            {nil, "1.0 KiB", "1024"},
		"a moment ago":            {at(time.Second), "1.0 KiB", "1024"},
		"some time ago":           {at(40 * time.Second), "1.0 KiB (40s ago)", "1024"},
		"not at all is no number": {new(int64), "-", "null"},
	} {
		t.Run(name, func(t *testing.T) {
			device := protocol.DeviceInfo{Allocated: 1024, Reserved: 1024, Known: test.known}
			if test.text == "-" {
				device.Allocated, device.Reserved = 0, 0
			}
			rows := rowsOf(attach.Process{PID: 7, User: "u", Command: "train", Info: &protocol.Info{Devices: []protocol.DeviceInfo{device}}})
			var text strings.Builder
			fatal.If(t, writeRows(&text, rows))
			line := strings.Join(strings.Fields(strings.Split(text.String(), "\n")[1]), " ")
			if want := "7 u 0 0 " + test.text + " "; !strings.HasPrefix(line, want) {
				t.Errorf("the row is %q, want it to begin with %q", line, want)
			}
			data, err := json.Marshal(rows)
			fatal.If(t, err)
			if want := `"allocated_bytes":` + test.bytes + `,"reserved_bytes":` + test.bytes; !strings.Contains(string(data), want) {
				t.Errorf("the JSON is %s, want %s in it", data, want)
			}
		})
	}
}

// TestAChangeIsMeasuredOnTheDeviceOfMeasuredSteps has steps that were not looked at after those that were, as they come
// in one batch. They name the first device, and the program's memory is on the second.
func TestAChangeIsMeasuredOnTheDeviceOfMeasuredSteps(t *testing.T) {
	recorded := &trace.Trace{Live: &trace.Live{Changes: []trace.Change{{ID: 1, Key: "amp", From: "off", To: "bf16", State: trace.Applied, Step: 12}}}}
	for number := int64(1); number <= 30; number++ {
		value := "off"
		if number >= 12 {
			value = "bf16"
		}
		settings := []trace.Value{{Key: "amp", Value: value}}
		recorded.Steps = append(recorded.Steps,
			trace.Step{Number: number, Device: 1, Duration: 1e6, Allocated: 1, PeakAllocated: 100 - number, PeakReserved: 100, Settings: settings})
	}
	recorded.Steps = append(recorded.Steps, trace.Step{Number: 31, Device: 0, Duration: 1e6, Settings: recorded.Steps[29].Settings})
	found := analysis.Experiments(recorded, deviceOf(recorded))
	if len(found) != 1 || !found[0].Done() {
		t.Errorf("it found %+v on device %d", found, deviceOf(recorded))
	}
}
