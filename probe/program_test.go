package probe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"memtop/snapshots/trace"
	"memtop/snapshots/wire"
)

// program is a made program with one allocator: equal blocks in one segment,
// handed out and taken back round about.
type program struct {
	mu       sync.Mutex
	in       *trace.Interner
	recorder trace.Recorder
	events   int64 // recorded or not
	states   int   // how often a state was asked for
	live     []bool
	next     int
	stack    trace.StackID
	note     trace.NoteID

	settings map[string]string // of the next step
	refusal  error             // of every change
	predict  func(context.Context) (*trace.Prediction, error)
	step     int64
}

const (
	programBase  = 1 << 30
	programBlock = 4096
	programSlots = 64
)

func newProgram() *program {
	p := &program{in: trace.NewInterner(), live: make([]bool, programSlots), settings: map[string]string{"checkpoint": "none", "amp": "off"}}
	frame := p.in.Frame(trace.Frame{File: p.in.String("model.go"), Name: p.in.String("forward"), Line: 7})
	p.stack = p.in.Stack([]trace.FrameID{frame})
	p.note = p.in.Note(trace.Note{Category: p.in.String("activation")})
	return p
}

func (p *program) Devices() []int { return []int{0} }

func (p *program) Tables() trace.Tables {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in.View()
}

func (p *program) State(_ int, at func()) trace.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	at()
	p.states++
	return p.state()
}

func (p *program) state() trace.State {
	s := trace.Segment{
		Addr: programBase, Size: programSlots * programBlock, Type: p.in.String("large"),
		Given: trace.GaveAddr | trace.GaveSize | trace.GaveType,
	}
	for i, live := range p.live {
		b := trace.Block{Addr: address(i), Size: programBlock, Requested: programBlock, Given: trace.GaveAddr | trace.GaveSize | trace.GaveState}
		if live {
			b.State, b.Stack, b.Note = trace.Allocated, p.stack, p.note
			s.Allocated += b.Size
		}
		s.Blocks = append(s.Blocks, b)
	}
	return trace.State{Segments: []trace.Segment{s}}
}

func address(slot int) uint64 { return programBase + uint64(slot)*programBlock }

func (p *program) Settings() []trace.Setting {
	return []trace.Setting{{Key: "expandable_segments", Value: false}}
}

func (p *program) Observe(r trace.Recorder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recorder = r
}

// run makes n events: every slot is taken, then every slot is given back.
func (p *program) run(n int) {
	for range n {
		p.mu.Lock()
		slot := p.next % programSlots
		p.next++
		kind := trace.Alloc
		if p.live[slot] {
			kind = trace.Free
		}
		p.live[slot] = !p.live[slot]
		p.events++
		if p.recorder != nil {
			p.recorder.Record(0, trace.Event{
				Addr: address(slot), Size: programBlock, Time: p.events, Stack: p.stack, Note: p.note, Kind: kind,
			})
		}
		p.mu.Unlock()
	}
}

// name interns a text that only events from now on refer to.
func (p *program) name(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note = p.in.Note(trace.Note{Category: p.in.String(text)})
}

// finish ends a step of the settings that hold now.
func (p *program) finish(to *Probe) {
	p.mu.Lock()
	p.step++
	s := trace.Step{Number: p.step, Duration: int64(time.Millisecond), Time: p.step, Loss: 2}
	for key, value := range p.settings {
		s.Settings = append(s.Settings, trace.Value{Key: key, Value: value})
	}
	p.mu.Unlock()
	slices.SortFunc(s.Settings, func(a, b trace.Value) int { return strings.Compare(a.Key, b.Key) })
	to.Step(s)
}

func (p *program) Options() []trace.Option {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []trace.Option{
		{Key: "checkpoint", Value: p.settings["checkpoint"], Choices: []string{"none", "block"}, Free: true},
		{Key: "amp", Value: p.settings["amp"], Choices: []string{"off", "bf16"}},
	}
}

func (p *program) Set(key, value string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusal != nil {
		return p.refusal
	}
	p.settings[key] = strings.TrimSpace(value)
	return nil
}

func (p *program) Predict(ctx context.Context, _, _ string) (*trace.Prediction, error) {
	if p.predict == nil {
		return nil, nil //nolint:nilnil // it is how a program says that it does not know
	}
	return p.predict(ctx)
}

// listening starts a probe for p that ends with the test.
func listening(t testing.TB, p Source, o Options) *Probe {
	t.Helper()
	if o.Dir == "" && o.Path == "" {
		o.Dir = filepath.Join(t.TempDir(), "probe")
	}
	probe, err := Listen(t.Context(), o, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = probe.Close() })
	return probe
}

// client asks a probe over its socket.
type client struct {
	*http.Client
	viewer string
}

func newClient(t testing.TB, p *Probe, viewer string) *client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, p.Path())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{&http.Client{Transport: transport}, viewer}
}

func dial(ctx context.Context, path string) (net.Conn, error) {
	name, release, err := reach(path)
	if err != nil {
		return nil, err
	}
	defer release()
	var d net.Dialer
	return d.DialContext(ctx, "unix", name)
}

func (c *client) request(ctx context.Context, t testing.TB, method, path, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://probe"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if c.viewer != "" {
		r.Header.Set("Memtop-Viewer", c.viewer)
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer
}

// ask returns the answer's status and text.
func (c *client) ask(t testing.TB, method, path, body string) (int, string) {
	t.Helper()
	answer := c.request(t.Context(), t, method, path, body)
	defer shut(answer.Body)
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer.StatusCode, string(text)
}

// stream is an open stream whose frames a test reads one by one.
type stream struct {
	*wire.Decoder
	body   io.Closer
	cancel context.CancelFunc
}

func (c *client) stream(t testing.TB, query string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	answer := c.request(ctx, t, http.MethodGet, "/v1/stream"+query, "")
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		t.Fatalf("stream: %s: %s", answer.Status, text)
	}
	s := &stream{wire.NewDecoder(bufio.NewReader(answer.Body), wire.Limits{}), answer.Body, cancel}
	t.Cleanup(s.close)
	return s
}

func (s *stream) close() {
	s.cancel()
	_ = s.body.Close()
}

// next returns the next frame of that type, and fails the test when there is
// none.
func (s *stream) next(t testing.TB, kind wire.Type) wire.Frame {
	t.Helper()
	return s.until(t, "a frame of type "+kind.String(), func(f *wire.Frame) bool { return f.Type == kind })
}

func (s *stream) until(t testing.TB, what string, done func(*wire.Frame) bool) wire.Frame {
	t.Helper()
	for {
		f, err := s.Next()
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		if done(&f) {
			return f
		}
	}
}

// eventually polls until done reports true.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for !done() {
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatalf("not in 20 s: %s", what)
		}
	}
}

// shut closes what a test has looked at.
func shut(c io.Closer) { _ = c.Close() }

// send sends what may be too little or too much for the other side, which then
// says so.
func send(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func set(key, value string) string {
	return `{"set":{` + strconv.Quote(key) + `:` + strconv.Quote(value) + `}}`
}

var errNo = errors.New("the model is too small for that")
