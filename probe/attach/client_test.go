package attach

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// The client's interfaces.
var (
	_ trace.Growing    = (*Client)(nil)
	_ trace.Controller = (*Client)(nil)
)

// dialling attaches to a socket until the test ends.
func dialling(t testing.TB, target string, o DialOptions) *Client {
	t.Helper()
	if o.Interval == 0 {
		o.Interval = protocol.MinInterval
	}
	c, err := Dial(t.Context(), target, o)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// taken returns which of the program's slots a trace says are taken.
func taken(t *trace.Trace) []uint64 {
	var list []uint64
	for _, s := range t.Devices[0].Final.Segments {
		for _, b := range s.Blocks {
			if b.State == trace.Allocated {
				list = append(list, b.Addr)
			}
		}
	}
	return list
}

func TestAClientFollowsAProgram(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, probe.Options{Control: p, Writer: "a test"})
	p.Run(40)
	c := dialling(t, probe.Path(), DialOptions{})
	first := c.Trace()
	if got := len(taken(first)); got != 40 || first.Devices[0].Events.Len() != 0 {
		t.Errorf("at first %d slots are taken after %d events, want 40 after none", got, first.Devices[0].Events.Len())
	}
	if i := first.Info; i.Kind != "live" || !i.Growing || !i.Control || i.Writer != "a test" {
		t.Errorf("the trace says it is %+v", i)
	}
	p.Run(probetest.Slots) // all slots are taken, then the first given back
	p.Finish(probe)
	got := awaiting(t, c, "the events and a step", func(now *trace.Trace) bool {
		return now.Devices[0].Events.Len() == probetest.Slots && len(now.Steps) == 1
	})
	want := &trace.Trace{Devices: []trace.Device{{Final: p.State(0, func() {})}}}
	equal.Values(t, "taken slots", taken(want), taken(got))
	if len(taken(first)) != 40 {
		t.Error("a trace that was handed out has changed")
	}
	if l := got.Live; !l.Connected || l.PID != os.Getpid() || len(l.Gaps) != 0 || len(l.Options) != 2 {
		t.Errorf("the program is said to be %+v", l)
	}
}

func TestAClientAsksWhatAChangeWouldDo(t *testing.T) {
	p := probetest.New()
	p.Prediction = func(_ context.Context, changes []trace.Value) (*trace.Prediction, error) {
		return &trace.Prediction{PeakAllocated: -7 * int64(len(changes))}, nil
	}
	probe := listening(t, p, probe.Options{Control: p})
	c := dialling(t, probe.Path(), DialOptions{})
	got, err := c.Predict(t.Context(), []trace.Value{{Key: "amp", Value: "bf16"}})
	if err != nil || got == nil || got.PeakAllocated != -7 {
		t.Errorf("got %+v and %v, want a peak of 7 bytes less", got, err)
	}
	if _, err := c.Predict(t.Context(), []trace.Value{{Key: "amp", Value: "a&b=c"}}); err == nil || !strings.Contains(err.Error(), "amp takes") {
		t.Errorf("a value that is none: got %v", err)
	}
	got, err = c.Predict(t.Context(), []trace.Value{{Key: "amp", Value: "bf16"}, {Key: "checkpoint", Value: "every=2&set=amp=off"}})
	if err != nil || got == nil || got.PeakAllocated != -14 {
		t.Errorf("two changes: got %+v and %v, want a peak of 14 bytes less", got, err)
	}
	if n := len(c.Trace().Live.Changes); n > 0 || p.Values["amp"] != "off" {
		t.Errorf("%d changes were made, amp is %s", n, p.Values["amp"])
	}
}

func TestAClientChangesSettings(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, probe.Options{Control: p})
	c := dialling(t, probe.Path(), DialOptions{})
	made, err := c.Set(t.Context(), "checkpoint", "block")
	if err != nil || made.State != trace.Pending || made.To != "block" || made.From != "none" {
		t.Fatalf("got %+v and %v, want it pending", made, err)
	}
	p.Finish(probe)
	awaiting(t, c, "the change to be applied", func(now *trace.Trace) bool {
		changes := now.Live.Changes
		return len(changes) == 1 && changes[0].ID == made.ID && changes[0].State == trace.Applied
	})
	both, err := c.Change(t.Context(), []trace.Value{{Key: "amp", Value: "bf16"}, {Key: "checkpoint", Value: "none"}})
	if err != nil || len(both) != 2 {
		t.Errorf("two changes at once: %+v and %v", both, err)
	}
	other := dialling(t, probe.Path(), DialOptions{Viewer: "another"})
	var held *protocol.HeldError
	if _, err := other.Set(t.Context(), "amp", "off"); !errors.As(err, &held) {
		t.Errorf("the second writer is told %v", err)
	}
	must(t, c.Close())
	probetest.Eventually(t, "the lease to be free", func() bool {
		_, err := other.Set(t.Context(), "amp", "off")
		return err == nil
	})
}

// relay passes connections on to a probe, under a socket of its own, until it
// is told to drop them. It is in this process, as the probe is.
type relay struct {
	net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
	seen  strings.Builder // what viewers sent
	down  bool
	all   sync.WaitGroup
}

func relaying(t *testing.T, probe *probe.Probe) *relay {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(filepath.Dir(probe.Path()), "relay.sock"))
	must(t, err)
	r := &relay{Listener: l, to: probe.Path()}
	r.all.Go(r.accept)
	t.Cleanup(func() { _ = l.Close(); r.drop(true); r.all.Wait() })
	return r
}

func (r *relay) accept() {
	for {
		in, err := r.Accept()
		if err != nil {
			return
		}
		out, err := dial(context.Background(), r.to)
		r.mu.Lock()
		if r.down || err != nil {
			_ = in.Close()
		}
		if err == nil {
			r.conns = append(r.conns, in, out)
			r.all.Go(func() { _, _ = io.Copy(io.MultiWriter(out, r), in); _ = out.Close() })
			r.all.Go(func() { _, _ = io.Copy(in, out); _ = in.Close() })
		}
		r.mu.Unlock()
	}
}

// Write notes what a viewer sent.
func (r *relay) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen.Write(p)
}

func (r *relay) sent() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen.String()
}

// drop ends all connections; while down no other is let in.
func (r *relay) drop(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

func TestWhatTheRingHoldsIsNotLostWithAConnection(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, probe.Options{})
	r := relaying(t, probe)
	c := dialling(t, r.Addr().String(), DialOptions{})
	p.Run(100)
	p.Finish(probe)
	awaiting(t, c, "100 events", func(now *trace.Trace) bool { return now.Devices[0].Events.Len() == 100 && len(now.Steps) == 1 })
	r.drop(true)
	awaiting(t, c, "the loss", func(now *trace.Trace) bool { return !now.Live.Connected })
	const missed, steps = 10_000, 200 // more steps than a viewer gets that is new
	for range steps {
		p.Run(missed / steps)
		p.Finish(probe)
	}
	r.drop(false)
	back := awaiting(t, c, "the way back", func(now *trace.Trace) bool { return now.Live.Connected && len(now.Steps) == 1+steps })
	if got := back.Devices[0].Events.Len(); got != 100+missed || len(back.Live.Gaps) != 0 || len(back.Notices) != 0 {
		t.Errorf("%d events, gaps %+v and notices %q, want all %d and none", got, back.Live.Gaps, back.Notices, 100+missed)
	}
	want := &trace.Trace{Devices: []trace.Device{{Final: p.State(0, func() {})}}}
	equal.Values(t, "taken slots", taken(want), taken(back))
}

func TestAConnectionThatIsLostIsMadeAgainAndShowsAsAGap(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, probe.Options{Ring: 64}) // so that what is missed is lost
	r := relaying(t, probe)
	c := dialling(t, r.Addr().String(), DialOptions{})
	p.Run(100)
	awaiting(t, c, "100 events", func(now *trace.Trace) bool { return now.Devices[0].Events.Len() == 100 })
	r.drop(true)
	lost := awaiting(t, c, "the loss", func(now *trace.Trace) bool { return !now.Live.Connected })
	if !strings.Contains(lost.Live.Note, "connection was lost") || lost.Devices[0].Events.Len() != 100 {
		t.Errorf("after the loss: %q with %d events", lost.Live.Note, lost.Devices[0].Events.Len())
	}
	const missed, after = 10_000, 5
	p.Run(missed)
	r.drop(false)
	back := awaiting(t, c, "the way back", func(now *trace.Trace) bool { return now.Live.Connected && len(now.Live.Gaps) == 1 })
	gap := back.Live.Gaps[0]
	if gap.From != 100 || gap.Missed <= 0 || gap.Reason == "" {
		t.Errorf("the gap is %+v, want events missed from 100 on", gap)
	}
	p.Run(after)
	awaiting(t, c, "all events that were not missed", func(now *trace.Trace) bool {
		return gap.Missed+int64(now.Devices[0].Events.Len()-gap.To) == missed+after
	})
}

func TestAReadOnlyClientSendsNoChange(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, probe.Options{Control: p})
	r := relaying(t, probe)
	c := dialling(t, r.Addr().String(), DialOptions{ReadOnly: true})
	var forbidden *PermissionError
	if _, err := c.Set(t.Context(), "checkpoint", "block"); !errors.As(err, &forbidden) {
		t.Errorf("a change is answered with %v", err)
	}
	if c.Trace().Info.Control {
		t.Error("the trace says that settings can be changed")
	}
	p.Finish(probe)
	awaiting(t, c, "a step", func(now *trace.Trace) bool { return len(now.Steps) == 1 })
	sent := r.sent()
	if strings.Contains(sent, "POST") || strings.Count(sent, "GET /v1/stream") != 1 {
		t.Errorf("the client sent %q, want one request for the stream", sent)
	}
	if p.Values["checkpoint"] != "none" {
		t.Error("the setting has changed")
	}
}

func TestAProgramThatSaysGoodbyeLeavesItsLastState(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, probe.Options{})
	c := dialling(t, probe.Path(), DialOptions{})
	p.Run(7)
	must(t, probe.Close())
	last := awaiting(t, c, "the goodbye", func(now *trace.Trace) bool { return !now.Live.Connected })
	if got := len(taken(last)); got != 7 || !strings.Contains(last.Live.Note, "goodbye") {
		t.Errorf("the last state has %d slots taken and says %q", got, last.Live.Note)
	}
	<-c.Ended()
}

func TestACallCanBeCalledOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "silent.sock")
	l, err := net.Listen("unix", path)
	must(t, err)
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error) // written once
	go func() {
		_, err := Dial(ctx, path, DialOptions{})
		done <- err
	}()
	first, err := l.Accept() // it looks who is there
	must(t, err)
	defer func() { _ = first.Close() }()
	second, err := l.Accept() // and asks, and is not answered
	must(t, err)
	defer func() { _ = second.Close() }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

func TestDevicesAreLookedAtFromOutside(t *testing.T) {
	t.Parallel()
	p := probetest.New()
	probe := listening(t, p, probe.Options{})
	look := func(who Process, devices []int) ([]trace.Gauge, error) {
		if who.PID != os.Getpid() || !slices.Equal(devices, []int{0}) {
			return nil, errors.New("asked about another process")
		}
		return []trace.Gauge{{Device: 0, Time: 1, Total: 100, Used: 50}}, nil
	}
	c := dialling(t, probe.Path(), DialOptions{Gauge: look})
	p.Run(1)
	awaiting(t, c, "a gauge", func(now *trace.Trace) bool { return len(now.Live.Gauges) > 0 && now.Live.Gauges[0].Total == 100 })

	blind := dialling(t, probe.Path(), DialOptions{Gauge: func(Process, []int) ([]trace.Gauge, error) {
		return nil, errors.New("there is no driver")
	}})
	awaiting(t, blind, "the reason why there is none", func(now *trace.Trace) bool {
		return slices.ContainsFunc(now.Notices, func(n string) bool { return strings.Contains(n, "there is no driver") })
	})
}

// TestADriverThatNeverAnswersHoldsUpNobody has a look that returns only when the
// test ends.
func TestADriverThatNeverAnswersHoldsUpNobody(t *testing.T) {
	t.Parallel()
	p := probetest.New()
	probe := listening(t, p, probe.Options{})
	hung, answer := make(chan struct{}), make(chan struct{}) // closed by the look, and at the end
	c, err := Dial(t.Context(), probe.Path(), DialOptions{Interval: protocol.MinInterval, Gauge: func(Process, []int) ([]trace.Gauge, error) {
		close(hung)
		<-answer
		return nil, nil
	}})
	must(t, err)
	<-hung
	p.Run(7)
	awaiting(t, c, "the events", func(now *trace.Trace) bool { return now.Devices[0].Events.Len() == 7 })
	closed := make(chan error, 1) // written once
	go func() { closed <- c.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the client does not close")
	}
	close(answer)
	<-c.looked
}

// BenchmarkFollowing is an event's way from Record to a client's trace, over
// the socket.
func BenchmarkFollowing(b *testing.B) {
	p := probetest.New()
	probe := listening(b, p, probe.Options{Ring: 1 << 20})
	c := dialling(b, probe.Path(), DialOptions{})
	b.ResetTimer()
	for done := 0; done < b.N; {
		n := min(b.N-done, 100_000)
		p.Run(n)
		done += n
		arrived := func(now *trace.Trace) bool {
			d := &now.Devices[0]
			return d.First+int64(d.Events.Len()) == int64(done)
		}
		awaiting(b, c, "all events", arrived)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
