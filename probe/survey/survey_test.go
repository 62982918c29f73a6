package survey

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// step is one of two calls that save 100 and 200 bytes. Then something takes 50 for a
// moment, and the backward takes the two up, the last one first. On a device, requests
// are their numbers in the list of changes.
func step() *Step {
	return &Step{
		Storages: []Storage{
			{Addr: 7, Size: 1000, Made: -1},
			{Addr: 1, Size: 100, Made: 1, Saved: []int64{1}},
			{Addr: 2, Size: 200, Made: 2, Saved: []int64{2}},
			{Addr: 9, Size: 50},
		},
		Moments: []Moment{
			{0, 0, "", "parameter"},
			{1, 1, "", activation},
			{2, 2, "", activation},
			{-1, 3, "", ""}, // the forward ends
			{3, 0, "", "other"},
			{3, 0, "other", ""},
			{-3, 4, "", ""},
			{2, 0, activation, ""},
			{-2, 5, "", ""},
			{1, 0, activation, ""},
		},
		Blocks: []Block{{Name: "h.0", Calls: []int64{1}, Half: true}, {Name: "h.1", Calls: []int64{2}}},
		Values: []trace.Value{{Key: "amp", Value: "off"}},
		Memory: &trace.StepBlocks{
			Begun:   1000,
			Changes: []trace.BlockChange{{Addr: 1, Bytes: 100}, {Addr: 2, Bytes: 200}, {Addr: 9, Bytes: 50}, {Addr: 9, Bytes: -50}, {Addr: 2, Bytes: -200}, {Addr: 1, Bytes: -100}},
		},
	}
}

func cast(s *Step) { s.Storages[1].Cast = true }

// TestWhatRecomputingWouldSave has peaks that are counted by hand: of 1350 bytes on the
// device and of storages, 300 of them activations.
func TestWhatRecomputingWouldSave(t *testing.T) {
	for name, test := range map[string]struct {
		value             string
		change            func(*Step)
		peak, activations int64
	}{
		"nothing":                                {"off", func(*Step) {}, 0, 0},
		"the first; the second's stays":          {"layers=h.0", func(*Step) {}, -100, -100},
		"the same is half":                       {"half", func(*Step) {}, -100, -100},
		"both; each comes back alone":            {"all", func(*Step) {}, -150, -100},
		"what contains both":                     {"layers=h", func(*Step) {}, -150, -100},
		"a cast, which stays until the end":      {"all", cast, -150, -100},
		"a cast beside what stays":               {"half", func(s *Step) { cast(s); s.Moments[3].Requests = 4 }, 0, 0},
		"what the next call is given":            {"half", func(s *Step) { s.Storages[1].Given = []int64{2} }, -100, -100},
		"what a recomputed call is given":        {"half", func(s *Step) { s.Storages[1].Given = []int64{1} }, 0, 0},
		"what another saves too":                 {"half", func(s *Step) { s.Storages[1].Saved = []int64{1, 2} }, 0, 0},
		"a cache that is not filled":             {"half", func(s *Step) { s.Storages[1].Saved, s.Blocks[0].Uncached = nil, true }, -100, -100},
		"the same, which autocast converted":     {"half", func(s *Step) { cast(s); s.Storages[1].Saved, s.Blocks[0].Uncached = nil, true }, -100, -100},
		"a name that begins as another":          {"layers=h.1", func(s *Step) { s.Blocks[0].Name = "h.10" }, -50, 0},
		"storages alone":                         {"all", func(s *Step) { s.Memory = nil }, -150, -100},
		"an address that is used again, later":   {"half", again(3), 0, -100},
		"an address that is used again, earlier": {"half", again(1), -400, -100},
	} {
		t.Run(name, func(t *testing.T) {
			s := step()
			test.change(s)
			got := s.Predict([]trace.Option{{Key: "checkpoint", Value: "off"}}, trace.Value{Key: "checkpoint", Value: test.value})
			if got == nil || got.PeakAllocated != test.peak || got.Activation != test.activations {
				t.Errorf("got %+v, want %d bytes and %d of activations", got, test.peak, test.activations)
			}
		})
	}
}

// again makes the first storage's address that of two blocks, of 500 and of 100 bytes.
// The storage was known after so many requests.
func again(known int64) func(*Step) {
	return func(s *Step) {
		s.Memory.Changes = []trace.BlockChange{{Addr: 1, Bytes: 500}, {Addr: 1, Bytes: -500}, {Addr: 1, Bytes: 100}, {Addr: 1, Bytes: -100}}
		s.Moments[1].Requests = known
		s.Moments[8].Requests = 3
	}
}

func TestAPredictionIsAboutTheSettingsInForce(t *testing.T) {
	amp := func(value string) []trace.Option {
		return []trace.Option{{Key: "checkpoint", Value: "all"}, {Key: "amp", Value: value}}
	}
	if got := step().Predict(amp("off"), trace.Value{Key: "checkpoint", Value: "off"}); got == nil || got.PeakAllocated != 150 {
		t.Errorf("without it the peak rises by %+v, want 150", got)
	}
	for name, test := range map[string]struct{ amp, key, value string }{
		"another setting has changed": {"bf16", "checkpoint", "half"},
		"another setting":             {"off", "look", "every"},
		"a name of no block":          {"off", "checkpoint", "layers=h.0.mlp"},
	} {
		if got := step().Predict(amp(test.amp), trace.Value{Key: test.key, Value: test.value}); got != nil {
			t.Errorf("%s: predicted %+v", name, got)
		}
	}
}
