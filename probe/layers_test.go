package probe

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memtop/snapshots/trace"
	"memtop/snapshots/wire"
)

// TestOfABatchTheNewestStepHasItsLayers lets steps end before a viewer comes and
// within one batch of it, and looks at which are told with their layers.
func TestOfABatchTheNewestStepHasItsLayers(t *testing.T) {
	type step struct{ device, layers int }
	tests := map[string]struct {
		steps []step
		want  []int
	}{
		"one step":                        {[]step{{0, 2}}, []int{2}},
		"several steps":                   {[]step{{0, 2}, {0, 2}, {0, 3}}, []int{0, 0, 3}},
		"the newest measured none":        {[]step{{0, 2}, {0, 2}, {0, 0}}, []int{0, 2, 0}},
		"two devices, each with a newest": {[]step{{0, 2}, {1, 3}, {0, 2}, {1, 4}}, []int{0, 0, 2, 4}},
		"steps that measured none":        {make([]step, 40), make([]int, 40)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			probe := listening(t, newProgram(), Options{})
			end := func() {
				for i, s := range test.steps {
					probe.Step(trace.Step{Number: int64(i + 1), Device: s.device, Layers: make([]trace.Layer, s.layers)})
				}
			}
			end()
			c := newClient(t, probe, "")
			frames := c.stream(t, "?interval=60s")
			if diff := cmp.Diff(test.want, layersTold(t, frames)); diff != "" {
				t.Errorf("at first (-want +got):\n%s", diff)
			}
			lines := streamLines(t, c)
			for range test.want { // those of before, told in the same way
				<-lines
			}
			end()
			if err := probe.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, layersTold(t, frames)); diff != "" {
				t.Errorf("then (-want +got):\n%s", diff)
			}
			var got []int
			for n := range lines {
				got = append(got, n)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("as lines (-want +got):\n%s", diff)
			}
		})
	}
}

// layersTold returns how many layers each step of a batch has.
func layersTold(t *testing.T, s *stream) (layers []int) {
	t.Helper()
	for {
		f, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch f.Type {
		case wire.StepFrame:
			layers = append(layers, len(f.Step.Layers))
		case wire.CountersFrame:
			return layers
		default: // not about steps
		}
	}
}

// streamLines asks for a stream of lines, and sends how many layers each step
// has until it ends.
func streamLines(t *testing.T, c *client) <-chan int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://probe/v1/stream?interval=60s", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", contentNDJSON)
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan int) // closed when the stream has ended
	go func() {
		defer close(told)
		defer shut(answer.Body)
		for d := json.NewDecoder(answer.Body); ; {
			var line map[string]json.RawMessage
			if d.Decode(&line) != nil {
				return
			}
			if string(line["type"]) == `"step"` {
				var s trace.Step
				_ = json.Unmarshal(line["data"], &s)
				told <- len(s.Layers)
			}
		}
	}()
	return told
}
