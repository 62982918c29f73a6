package remote

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// The helpers of probes' and viewers' tests.
var (
	must     = probetest.Must
	awaiting = probetest.Awaiting
)

// actor says which far end the test binary is to be, "" for the tests.
const actor = "MEMTOP_TEST_BRIDGE"

func TestMain(m *testing.M) {
	if name := os.Getenv(actor); name != "" {
		os.Exit(act(name))
	}
	probetest.WithoutBoxes()
	os.Exit(m.Run())
}

// act is a far end, in a process of its own.
func act(name string) int {
	if name == "bridge" {
		if err := Serve(context.Background(), os.Stdin, os.Stdout, Options{Gauge: func(p attach.Process, devices []int) ([]trace.Gauge, error) {
			return []trace.Gauge{{Device: devices[0], Process: int64(p.PID)}}, nil
		}}); err != nil {
			return 1
		}
		return 0
	}
	hostile[name](os.Stdin, os.Stdout)
	return 0
}

// toActor is the way to a far end that this binary plays.
func toActor(t *testing.T, name string) Way {
	t.Helper()
	t.Setenv(actor, name)
	return Way{host: "gpu7", program: os.Args[0], memtop: "memtop", test: "a test"}
}

// listening starts a probe that a bridge finds, until the test ends.
func listening(t *testing.T, p probe.Source, o probe.Options) *probe.Probe {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "probe")
	t.Setenv("MEMTOP_DIR", folder)
	o.Dir = folder
	probe, err := probe.Listen(t.Context(), o, p)
	must(t, err)
	t.Cleanup(func() { _ = probe.Close() })
	return probe
}

// opening starts a bridge, until the test ends.
func opening(t *testing.T) *Machine {
	t.Helper()
	m, err := Open(t.Context(), toActor(t, "bridge"), false)
	must(t, err)
	t.Cleanup(m.Close)
	return m
}

// ourselves is this process, as a target.
func ourselves() string { return strconv.Itoa(os.Getpid()) }

func TestAProgramIsFollowedThroughABridge(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, probe.Options{Control: p, Writer: "a test"})
	p.Run(40)
	bridge := opening(t)
	there := attach.Through(bridge)
	found, err := there.Discover(t.Context())
	isOurs := func(p attach.Process) bool { return p.Host == "gpu7" && p.PID == os.Getpid() && p.Info != nil }
	if err != nil || !slices.ContainsFunc(found, isOurs) {
		t.Fatalf("found %+v and %v", found, err)
	}
	c, err := there.Dial(t.Context(), ourselves(), attach.DialOptions{Interval: protocol.MinInterval})
	must(t, err)
	defer func() { _ = c.Close() }()
	p.Run(60)
	awaiting(t, c, "60 events", func(now *trace.Trace) bool { return now.Devices[0].Events.Len() == 60 })
	if _, err := c.Set(t.Context(), "checkpoint", "block"); err != nil {
		t.Fatal(err)
	}
	p.Finish(probe)
	awaiting(t, c, "the change", func(now *trace.Trace) bool {
		return len(now.Live.Changes) == 1 && now.Live.Changes[0].State == trace.Applied
	})
	if seen, err := bridge.Gauge(t.Context(), found[0], []int{3}); err != nil || len(seen) != 1 || seen[0].Device != 3 || seen[0].Process != int64(found[0].PID) {
		t.Errorf("its devices are %+v and %v", seen, err)
	}
	if _, err := there.Snapshot(t.Context(), ourselves(), io.Discard, attach.SnapshotOptions{}); err != nil {
		t.Error(err)
	}
	teller, err := there.Teller(t.Context(), ourselves())
	must(t, err)
	defer teller.Close()
	if info, err := teller.Info(t.Context()); err != nil || info.PID != os.Getpid() {
		t.Errorf("it says it is %+v and %v", info, err)
	}
}

func TestWhatIsNotThereIsNamedWithItsHost(t *testing.T) {
	there := attach.Through(opening(t))
	_, err := there.Dial(t.Context(), "99999999", attach.DialOptions{})
	var missing *attach.NotFoundError
	if !errors.As(err, &missing) || err.Error() != "there is no process 99999999 on gpu7" {
		t.Errorf("a process that is not there: %v", err)
	}
	t.Setenv("MEMTOP_DIR", t.TempDir())
	_, err = there.Dial(t.Context(), ourselves(), attach.DialOptions{})
	var none *attach.NoProbeError
	if !errors.As(err, &none) || none.Host != "gpu7" || none.Kind() != attach.GoKind {
		t.Errorf("a process without a probe: %v, %+v", err, none)
	}
}

func TestABridgeThatIsLostIsStartedAgain(t *testing.T) {
	p := probetest.New()
	listening(t, p, probe.Options{})
	m := opening(t)
	c, err := attach.Through(m).Dial(t.Context(), ourselves(), attach.DialOptions{Interval: protocol.MinInterval})
	must(t, err)
	defer func() { _ = c.Close() }()
	p.Run(10)
	awaiting(t, c, "10 events", func(now *trace.Trace) bool { return now.Devices[0].Events.Len() == 10 })
	must(t, m.now.link.command.Process.Kill())
	awaiting(t, c, "the loss", func(now *trace.Trace) bool { return !now.Live.Connected })
	p.Run(10)
	back := awaiting(t, c, "the way back with what was missed", func(now *trace.Trace) bool {
		return now.Live.Connected && now.Devices[0].Events.Len() == 20
	})
	if len(back.Live.Gaps) > 0 {
		t.Errorf("what the ring holds was lost: %+v", back.Live.Gaps)
	}
}

func TestABridgeEndsWithItsViewer(t *testing.T) {
	m := opening(t)
	l := m.now.link
	m.Close()
	if l.failure != nil {
		t.Errorf("the bridge ended by %v, and not by itself", l.failure)
	}
	if _, err := m.Discover(t.Context()); err == nil || !strings.Contains(err.Error(), "gpu7") {
		t.Errorf("a machine that is closed answers %v", err)
	}
}
