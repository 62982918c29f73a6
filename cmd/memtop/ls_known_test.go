package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
)

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
