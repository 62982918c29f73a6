package conformance

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

func TestMain(m *testing.M) {
	probetest.WithoutBoxes()
	os.Exit(m.Run())
}

const short = 100 * time.Millisecond

func TestOurProbeKeepsThePage(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]probe.Options{"that takes changes": {}, "that is read-only": {ReadOnly: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := probetest.New()
			program.Epoch, o.Dir, o.Control = time.Now().UnixMicro(), t.TempDir(), program
			fatal.If(t, os.Chmod(o.Dir, 0o700))
			served, err := probe.Listen(t.Context(), o, program)
			fatal.If(t, err)
			defer served.Close() //nolint:errcheck // it was only watched
			stop := train(program, served)
			defer stop()
			unseen := []string{""}
			for long := 4 * short; len(unseen) > 0 && long < time.Minute; long *= 2 { // a busy machine shows little in a short time
				r, err := Examine(t.Context(), served.Path(), long)
				fatal.If(t, err)
				if broken := r.Broken(); len(broken) > 0 {
					t.Fatalf("broken are %+v", broken)
				}
				unseen = r.unseen("P1 P2 P3 P5 P6") // no snapshots come from a program with events
			}
			if len(unseen) > 0 {
				t.Errorf("nothing is seen of %q", unseen)
			}
		})
	}
}

// unseen returns the rules of which nothing was seen, but for some.
func (r *Report) unseen(but ...string) (list []string) {
	for _, one := range r.Results {
		if one.Outcome == NotSeen && !slices.Contains(but, one.Rules) {
			list = append(list, one.Rules)
		}
	}
	return list
}

// train has a program allocate and end steps until stop is called.
func train(program *probetest.Program, served *probe.Probe) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				program.Run(10)
				program.Finish(served)
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// hand is a probe as another project would write it: its answers, and the frames of its
// stream.
type hand struct {
	socket    os.FileMode
	info      protocol.Info
	refusal   string // the body of every answer that is not 200
	status    int    // of refusals, 0 for the right one
	settings  string
	snapshot  string
	frames    []func(*wire.Encoder)
	afterward int64 // the step of the second answer of /v1/info
}

// The frames of a hand's stream, by their place in it.
const (
	helloAt = iota
	firstBaseAt
	firstCountersAt
	eventsAt
	stepAt
	secondBaseAt
	countersAt
	byeAt
)

var begun = time.Now().Add(-time.Minute).UnixMicro()

// memory is a segment of two blocks of 512 bytes, of which some are live.
func memory(live ...uint64) *trace.State {
	s := &trace.State{Segments: []trace.Segment{{Addr: 4096, Size: 1024, Given: trace.GaveAddr | trace.GaveSize}}}
	for _, at := range live {
		s.Segments[0].Blocks = append(s.Segments[0].Blocks, trace.Block{Addr: at, Size: 512, State: trace.Allocated, Requested: 512})
	}
	return s
}

func event(kind trace.Kind, addr uint64) []trace.Event {
	return []trace.Event{{Kind: kind, Addr: addr, Size: 512, Time: begun + 1}}
}

func step(n, peak int64) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		e.Step(&trace.Step{Number: n, Time: begun + 2, Allocated: 512, PeakAllocated: peak, Reserved: 1024, PeakReserved: 1024})
	}
}

func base(first int64, s *trace.State) func(*wire.Encoder) {
	return func(e *wire.Encoder) { e.Base(0, first, s, 0, "") }
}

func counters(at int64) func(*wire.Encoder) {
	return func(e *wire.Encoder) { e.Counters(wire.Counters{Time: begun + at}) }
}

func newHand() *hand {
	info := protocol.Info{
		Version: wire.Version, Capabilities: []string{protocol.CapabilityControl}, PID: os.Getpid(), Command: "train",
		Started: begun, Devices: []protocol.DeviceInfo{{}}, Step: 1,
	}
	hello := func(e *wire.Encoder) {
		e.Hello(&wire.Hello{Version: wire.Version, PID: os.Getpid(), Started: begun, Devices: []int{0}})
	}
	return &hand{
		socket: 0o600, info: info, afterward: 1, refusal: `{"error": "no"}`, settings: `{"options": [], "changes": []}`, frames: []func(*wire.Encoder){
			hello, base(0, memory(4096)), counters(1), func(e *wire.Encoder) { e.Events(0, 0, event(trace.Alloc, 4608)) },
			step(1, 1024), base(1, memory(4096, 4608)), counters(2), func(e *wire.Encoder) { e.Bye("done") },
		},
	}
}

// ServeHTTP answers as the hand says.
func (h *hand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body := h.answer(r)
	if status != http.StatusOK && h.status != 0 {
		status = h.status
	}
	if r.URL.Path != "/v1/stream" || status != http.StatusOK {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (h *hand) answer(r *http.Request) (status int, body []byte) {
	switch path := r.URL.Path; {
	case path == "/v1/info" && r.Method == http.MethodGet:
		body, _ = json.Marshal(h.info)
		h.info.Step = h.afterward
	case path == "/v1/info":
		return http.StatusMethodNotAllowed, []byte(h.refusal)
	case path == "/v1/stream" && r.URL.Query().Get("interval") != "soon" && len(r.Header.Get("Memtop-Viewer")) <= 64:
		var all bytes.Buffer
		e := wire.NewEncoder(&all)
		for _, frame := range h.frames {
			frame(e)
		}
		_ = e.Flush()
		body = all.Bytes()
	case path == "/v1/snapshot":
		body = []byte(h.snapshot)
	case path == "/v1/settings" && r.Method == http.MethodGet:
		body = []byte(h.settings)
	case path == "/v1/stream", path == "/v1/settings", path == "/v1/prediction":
		return http.StatusBadRequest, []byte(h.refusal)
	default:
		return http.StatusNotFound, []byte(h.refusal)
	}
	return http.StatusOK, body
}

// examined serves the hand, and returns what is broken.
func (h *hand) examined(t *testing.T) []Result {
	t.Helper()
	start, err := procfs.StartOf("/proc/self/stat")
	if err != nil {
		t.Skip("the name of a socket needs /proc")
	}
	folder, err := os.MkdirTemp("", "memtop") // a short path
	fatal.If(t, err)
	defer os.RemoveAll(folder) //nolint:errcheck // it is temporary
	path := filepath.Join(folder, protocol.SocketName(os.Getpid(), start))
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	fatal.If(t, err)
	fatal.If(t, os.Chmod(path, h.socket))
	server := &http.Server{Handler: h} //nolint:gosec // its only client is ours
	go server.Serve(l)                 //nolint:errcheck // it ends with the test
	defer server.Close()               //nolint:errcheck // likewise
	r, err := Examine(t.Context(), path, short)
	fatal.If(t, err)
	return r.Broken()
}

func TestAProbeOfAnotherHandMayKeepThePage(t *testing.T) {
	if broken := newHand().examined(t); len(broken) > 0 {
		t.Errorf("broken are %+v", broken)
	}
}

// TestARuleThatIsBrokenIsNamed has one thing wrong in a probe of another hand.
func TestARuleThatIsBrokenIsNamed(t *testing.T) {
	nothing := func(*wire.Encoder) {}
	frame := func(at int, by func(*wire.Encoder)) func(*hand) { return func(h *hand) { h.frames[at] = by } }
	for name, c := range map[string]struct {
		rule  string
		wrong func(*hand)
	}{
		"a socket that others may open":      {"S3", func(h *hand) { h.socket = 0o644 }},
		"an info without a process":          {"I1", func(h *hand) { h.info.PID = 0 }},
		"a program that began in seconds":    {"I1", func(h *hand) { h.info.Started /= 1_000_000 }},
		"no device":                          {"I2", func(h *hand) { h.info.Devices = nil }},
		"steps that shrink":                  {"I4", func(h *hand) { h.afterward = 0 }},
		"nonsense is an error of its own":    {"S6", func(h *hand) { h.status = http.StatusInternalServerError }},
		"a refusal of two lines":             {"S6", func(h *hand) { h.refusal = `{"error": "no\nno"}` }},
		"a refusal that is HTML":             {"S6", func(h *hand) { h.refusal = `<p>no</p>` }},
		"no hello":                           {"O1", frame(helloAt, nothing)},
		"a second hello":                     {"O1", func(h *hand) { h.frames[stepAt] = h.frames[helloAt] }},
		"no base in the first batch":         {"O7", func(h *hand) { h.frames = slices.Delete(h.frames, firstBaseAt, stepAt+2) }},
		"counters that go back":              {"M6", frame(countersAt, counters(0))},
		"no counters for a minute":           {"O4", frame(countersAt, counters(30_000_000))},
		"an end without a goodbye":           {"O6", frame(byeAt, nothing)},
		"a frame after the goodbye":          {"O6", func(h *hand) { h.frames = append(h.frames, counters(3)) }},
		"a base that is not what came of it": {"B2", frame(secondBaseAt, base(1, memory(4096)))},
		"a base of another device":           {"B1", frame(secondBaseAt, func(e *wire.Encoder) { e.Base(1, 0, memory(), 0, "") })},
		"a first base that misses some":      {"B3", frame(firstBaseAt, func(e *wire.Encoder) { e.Base(0, 0, memory(4096), 3, "") })},
		"a block beyond its segment":         {"B5", frame(secondBaseAt, base(1, memory(4096, 4608, 5120)))},
		"segments in no order": {"B4", frame(secondBaseAt, func(e *wire.Encoder) {
			s := memory(4096, 4608)
			s.Segments = append(s.Segments, s.Segments[0])
			e.Base(0, 1, s, 0, "")
		})},
		"a hole in the events":    {"O3", frame(eventsAt, func(e *wire.Encoder) { e.Events(0, 7, event(trace.Alloc, 4608)) })},
		"memory handed out twice": {"E3", frame(eventsAt, func(e *wire.Encoder) { e.Events(0, 0, event(trace.Alloc, 4096)) })},
		"events of the time since boot": {"E2", frame(eventsAt, func(e *wire.Encoder) {
			e.Events(0, 0, []trace.Event{{Kind: trace.Alloc, Addr: 4608, Size: 512, Time: 7}})
		})},
		"a pickle that is none":          {"P2", frame(stepAt, func(e *wire.Encoder) { e.Snapshot([]byte("no pickle")) })},
		"steps that go back":             {"M5", func(h *hand) { h.frames = slices.Insert(h.frames, countersAt, step(1, 1024)) }},
		"a peak below the rest":          {"M5", frame(stepAt, step(1, 511))},
		"a step before its end":          {"O5", func(h *hand) { h.frames[eventsAt] = ended(h.frames[eventsAt]) }},
		"an option without choices":      {"M7", frame(stepAt, func(e *wire.Encoder) { e.Options([]trace.Option{{Key: "amp"}}) })},
		"a change that was never wanted": {"C2", frame(stepAt, func(e *wire.Encoder) { e.Change(&trace.Change{ID: 1, Key: "amp", State: trace.Refused, Time: begun}) })},
		"a snapshot that is none": {"R4", func(h *hand) {
			h.info.Capabilities, h.snapshot = []string{protocol.CapabilitySnapshot}, "no pickle"
		}},
		"settings without changes": {"R5", func(h *hand) { h.settings = `{"options": []}` }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHand()
			c.wrong(h)
			broken := h.examined(t)
			if !slices.ContainsFunc(broken, func(r Result) bool { return strings.HasPrefix(r.Seen, c.rule+": ") }) {
				t.Errorf("%s is not named; broken are %+v", c.rule, broken)
			}
		})
	}
}

// ended has the message of a step come before the event of its end.
func ended(events func(*wire.Encoder)) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		step(1, 1024)(e)
		events(e)
		e.Events(0, 1, []trace.Event{{Kind: trace.StepEnd, Size: 1, Time: begun + 2}})
	}
}

// TestRulesAreThoseOfThePage has no label that docs/protocol.md has not.
func TestRulesAreThoseOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/protocol.md")
	fatal.If(t, err)
	for _, group := range groups {
		for label := range strings.FieldsSeq(group.Rules) {
			if !regexp.MustCompile(`\*\*` + label + `\*\*`).Match(page) {
				t.Errorf("the page has no %s", label)
			}
		}
	}
}
