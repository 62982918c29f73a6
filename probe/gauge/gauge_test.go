package gauge

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/hostmemory"
	"github.com/memtop/memtop/snapshots/trace"
)

const gib = 1 << 30

// machine is a library with two cards of one kind and one of another.
type machine struct {
	list []card
	err  error
}

func (m machine) cards() ([]card, error) { return m.list, m.err }
func (m machine) close() error           { return nil }

// box has its cards in another order than the bus has.
func box(names ...string) machine {
	var m machine
	for i, name := range names {
		m.list = append(m.list, card{
			uuid: "GPU-" + strings.Repeat(string(rune('a'+i)), 4), name: name, bus: "0000:" + string(rune('9'-i)) + "0",
			total: int64(80+i) * gib, used: 10 * gib, utilisation: 50, temperature: 40, powerMilliwatt: unknown,
			users: []user{{pid: 7, bytes: 3 * gib}, {pid: 8, bytes: 2 * gib}},
		})
	}
	return m
}

func TestADeviceIsFoundAmongTheCards(t *testing.T) {
	alone := box("H200", "H200")
	alone.list[0].users = []user{{pid: 8, bytes: gib}}
	tests := map[string]struct {
		machine     machine
		environment map[string]string
		devices     []int
		want        []int64 // total of each device's card, in GiB
		reason      string
	}{
		"one card":                             {box("H200"), nil, []int{0}, []int64{80}, ""},
		"one of two cards is used":             {alone, nil, []int{0}, []int64{81}, ""},
		"cards of one kind come as on the bus": {box("H200", "H200"), nil, []int{0, 1}, []int64{81, 80}, ""},
		"different cards have no certain order": {
			box("H200", "T4"), nil, []int{0, 1}, nil, "CUDA_DEVICE_ORDER",
		},
		"different cards in the bus's order": {
			box("H200", "T4"), map[string]string{"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, []int{0, 1}, []int64{81, 80}, "",
		},
		"numbers choose": {
			box("H200", "H200", "H200"), map[string]string{"CUDA_VISIBLE_DEVICES": "2, 0"}, []int{0, 1}, []int64{80, 82}, "",
		},
		"UUIDs choose, whatever the order": {
			box("H200", "T4"), map[string]string{"CUDA_VISIBLE_DEVICES": "GPU-aa,GPU-bbbb"}, []int{0, 1}, []int64{80, 81}, "",
		},
		"a UUID that several cards have": {
			box("H200", "T4"), map[string]string{"CUDA_VISIBLE_DEVICES": "GPU-,GPU-bbbb"}, []int{0, 1}, []int64{81}, "several cards",
		},
		"a part of a card that is not there": {
			box("H200", "T4"), map[string]string{"CUDA_VISIBLE_DEVICES": "MIG-1,GPU-b"}, []int{0, 1}, []int64{81}, "no such card",
		},
		"a card that does not list its processes": {
			machine{list: []card{{uuid: "GPU-a", unlisted: "Insufficient Permissions"}}},
			nil,
			[]int{0},
			nil,
			"the driver finds process 7 on no card; it does not list those on the card GPU-a: Insufficient Permissions",
		},
		"more devices than are visible": {
			box("H200", "H200"), map[string]string{"CUDA_VISIBLE_DEVICES": "1"}, []int{0, 1}, []int64{80}, "fewer devices",
		},
		"a number that no card has": {
			box("H200", "H200"), map[string]string{"CUDA_VISIBLE_DEVICES": "7,-1"}, []int{0, 1}, nil, "no such card",
		},
		"a driver that fails": {machine{err: errors.New("lost")}, nil, []int{0}, nil, "lost"},
		"no card at all":      {machine{}, nil, []int{0}, nil, "process 7 on no card"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := Reader{library: test.machine}
			gauges, err := r.Read(Program{7, test.devices, func(name string) string { return test.environment[name] }})
			if text := errorText(err); test.reason == "" && text != "" || !strings.Contains(text, test.reason) {
				t.Errorf("the reason is %q, want %q", text, test.reason)
			}
			var totals []int64
			for _, g := range gauges {
				totals = append(totals, g.Total/gib)
			}
			equal.Values(t, "the cards' memory", test.want, totals)
		})
	}
}

// uncommanded leaves out what processes of this machine have the numbers of a test.
var uncommanded = cmpopts.IgnoreFields(trace.User{}, "Command")

// ofTheMachine checks the sums of gauges that are about the machine's memory, and
// leaves them out.
func ofTheMachine(t *testing.T, gauges []trace.Gauge) []trace.Gauge {
	t.Helper()
	for i := range gauges {
		g := &gauges[i]
		if !g.Unified {
			continue
		}
		if total, _ := hostmemory.Machine(); g.Total != total || g.Used <= 0 || g.Used >= total {
			t.Errorf("%d of %d bytes are used, the machine has %d", g.Used, g.Total, total)
		}
		g.Total, g.Used = 0, 0
	}
	return gauges
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMemoryIsDividedAmongProcesses(t *testing.T) {
	tests := map[string]struct {
		users           []user
		process, others int64
	}{
		"alone":                    {[]user{{7, gib}}, gib, 0},
		"with others":              {[]user{{7, gib}, {8, 2}, {9, 3}}, gib, 5},
		"not accounted for":        {[]user{{7, unknown}, {8, 2}}, unknown, 2},
		"others not accounted for": {[]user{{8, 2}, {9, unknown}, {10, 4}, {7, gib}}, gib, unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := box("H200")
			m.list[0].users = test.users
			got, err := (&Reader{library: m}).Read(Program{PID: 7, Devices: []int{0}})
			fatal.If(t, err)
			want := []trace.Gauge{{
				Total: 80 * gib, Used: 10 * gib, Process: test.process, Others: test.others,
				Utilisation: 50, Temperature: 40, Power: unknown,
			}}
			for _, u := range test.users {
				if u.pid != 7 {
					want[0].Users = append(want[0].Users, trace.User{PID: u.pid, Bytes: u.bytes})
				}
			}
			equal.Values(t, "the gauge", want, got, cmpopts.IgnoreFields(trace.Gauge{}, "Time"), uncommanded)
		})
	}
}

// TestTheDriverAnswersOrSaysWhyNot holds with and without a driver, and with
// and without cgo.
func TestTheDriverAnswersOrSaysWhyNot(t *testing.T) {
	r, err := Open()
	if err != nil {
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("the reason is more than a line: %q", err)
		}
		t.Skipf("no driver to ask: %v", err)
	}
	cards, err := r.library.cards()
	fatal.If(t, err)
	for _, c := range cards {
		if c.total <= 0 || c.used < 0 || c.used > c.total || c.uuid == "" || c.bus == "" {
			t.Errorf("a card that makes no sense: %+v", c)
		}
	}
	fatal.If(t, r.Close())
}

func TestAllCardsAreListedWithAllTheirProcesses(t *testing.T) {
	m := box("A", "B")
	m.list[1].unlisted = "Insufficient Permissions"
	r := &Reader{library: m}
	got, err := r.Cards()
	want := []Card{
		{Name: "A", UUID: "GPU-aaaa", Bus: "0000:90", Total: 80 * gib, Used: 10 * gib, Users: []User{{7, 3 * gib}, {8, 2 * gib}}},
		{Name: "B", UUID: "GPU-bbbb", Bus: "0000:80", Total: 81 * gib, Used: 10 * gib, Users: []User{{7, 3 * gib}, {8, 2 * gib}}, Problem: "Insufficient Permissions"},
	}
	if err != nil {
		t.Fatal(err)
	}
	equal.Values(t, "the cards", want, got)
}
