//go:build linux

package sensor

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestMain(m *testing.M) {
	Attend()
	probetest.WithoutBoxes()
	os.Exit(m.Run())
}

// hosting is a host in a folder of the test's own.
func hosting(t *testing.T) *Host {
	t.Helper()
	folder, err := os.MkdirTemp("", "m") // a short path, for a socket
	fatal.If(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	h, err := Listen(folder, slog.New(slog.DiscardHandler))
	fatal.If(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { _ = h.Serve(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return h
}

// pretender is an agent that a test speaks for. Its program is the test's process.
type pretender struct {
	t      *testing.T
	conn   *net.UnixConn
	socket string
}

const pretended = `{"devices":[{"device":0,"allocated_bytes":0,"reserved_bytes":0}],"settings":{"allocator":"none"},"notices":[],"looked":true}`

// greeted connects an agent to a host. Its greeting has the changes.
func greeted(t *testing.T, h *Host, change func(*greeting)) *pretender {
	t.Helper()
	start, err := procfs.StartOf("/proc/self/stat")
	fatal.If(t, err)
	p := &pretender{t: t, socket: filepath.Join(filepath.Dir(h.Path()), protocol.SocketName(os.Getpid(), start))}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.socket, Net: "unix"})
	fatal.If(t, err)
	l.SetUnlinkOnClose(false)
	fatal.If(t, os.Chmod(p.socket, 0o600))
	file, err := l.File()
	fatal.If(t, err)
	_ = l.Close()
	defer file.Close()
	g := &greeting{Version: "1", Who: probe.Identity{PID: os.Getpid(), Start: start, Command: "train.py", Socket: p.socket, BlackBox: "off"}}
	fatal.If(t, json.Unmarshal([]byte(pretended), &g.Program))
	if change != nil {
		change(g)
	}
	p.conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: h.Path(), Net: "unix"})
	fatal.If(t, err)
	t.Cleanup(func() { _ = p.conn.Close() })
	_, _, err = p.conn.WriteMsgUnix(framed(g), unix.UnixRights(int(file.Fd())), nil)
	fatal.If(t, err)
	return p
}

// send sends a message in Python's marshal format.
func (p *pretender) send(entries ...string) {
	p.t.Helper()
	text := list32('[', len(entries)) + strings.Join(entries, "")
	_, err := p.conn.Write([]byte(string(binary.LittleEndian.AppendUint32(nil, uint32(len(text)))) + text))
	fatal.If(p.t, err)
}

// asked returns the next question that is none for a description. The host also says how large its box is.
func (p *pretender) asked() question {
	p.t.Helper()
	for {
		head := make([]byte, 4)
		_ = p.conn.SetReadDeadline(time.Now().Add(time.Minute))
		_, err := io.ReadFull(p.conn, head)
		fatal.If(p.t, err)
		text, err := readRest(p.conn, head, 4)
		fatal.If(p.t, err)
		var q question
		fatal.If(p.t, json.Unmarshal(text, &q))
		if q.Do != "describe" && q.Do != "box" {
			return q
		}
	}
}

func list32(kind byte, n int) string {
	return string(kind) + string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

func number(n int64) string {
	return "i" + string(binary.LittleEndian.AppendUint32(nil, uint32(int32(n))))
}
func text(s string) string { return list32('u', len(s)) + s }
func raw(s string) string  { return list32('s', len(s)) + s }

func entry(k kind, values ...string) string {
	return list32('(', 1+len(values)) + number(int64(k)) + strings.Join(values, "")
}

func event(k trace.Kind, addr, size, time int64) string {
	return entry(eventKind, number(int64(k)), number(addr), number(size), number(time), number(0), number(0))
}

func step(n string) string {
	return entry(stepKind, raw(`{"step":`+n+`,"time_us":`+n+`,"device":0,"settings":[{"key":"amp","value":"off"}]}`))
}

func described(more string) string {
	return entry(describeKind, raw(strings.TrimSuffix(pretended, "}")+more+"}"))
}

// served is an agent with a relay, for messages alone.
func served(t *testing.T) *agent {
	t.Helper()
	h := hosting(t)
	greeted(t, h, nil)
	return await(t, h)
}

// await returns a host's only agent, as soon as there is one.
func await(t *testing.T, h *Host) *agent {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		h.mu.Lock()
		for _, a := range h.agents {
			h.mu.Unlock()
			return a
		}
		h.mu.Unlock()
	}
	t.Fatal("no agent in a minute")
	return nil
}

// follow attaches to the agent's program while the test speaks for the agent.
func (p *pretender) follow() *attach.Client {
	p.t.Helper()
	came := make(chan *attach.Client, 1)
	go func() {
		c, err := attach.Dial(p.t.Context(), p.socket, attach.DialOptions{})
		if err != nil {
			p.t.Error(err)
		}
		came <- c
	}()
	q := p.asked()
	for q.Do == "look" { // beside other tests, the machine's memory may run short at any time
		q = p.asked()
	}
	if q.Do != "watch" || q.Viewers != 1 || q.Turn != 1 {
		p.t.Errorf("asked %+v, want to watch", q)
	}
	p.send(event(trace.Alloc, 4096, 512, 1), described(`,"turn":1`))
	c := <-came
	if c == nil {
		p.t.FailNow()
	}
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

func until(t *testing.T, c *attach.Client, what string, ok func(*trace.Trace) bool) {
	t.Helper()
	limit := time.After(time.Minute)
	for !ok(c.Trace()) {
		select {
		case <-c.Changed():
		case <-limit:
			t.Fatalf("not in a minute: %s", what)
		}
	}
}

func TestAViewerFollowsWhatAnAgentSends(t *testing.T) {
	p := greeted(t, hosting(t), nil)
	c := p.follow()
	p.send(event(trace.Alloc, 8192, 1024, 2), event(trace.Free, 4096, 512, 3), step("1"))
	until(t, c, "a step", func(now *trace.Trace) bool { return len(now.Steps) == 1 })
	if got := c.Trace().Devices[0].Final.Segments; len(got) != 1 || got[0].Addr != 8192 || got[0].Size != 1024 {
		t.Errorf("its memory is %+v, want 1024 bytes at 8192", got)
	}
	p.send(entry(forgetKind), event(trace.Alloc, 4096, 64, 4), step("2"))
	until(t, c, "the memory anew", func(now *trace.Trace) bool { return len(now.Steps) == 2 })
	if got := c.Trace().Devices[0].Final.Segments; len(got) != 1 || got[0].Size != 64 || len(c.Trace().Notices) > 0 {
		t.Errorf("its memory is %+v (%q), want 64 bytes", got, c.Trace().Notices)
	}
	p.send(entry(byeKind, text("it is over")))
	until(t, c, "the end", func(now *trace.Trace) bool { return strings.Contains(now.Live.Note, "it is over") })
	if _, err := os.Lstat(p.socket); err == nil {
		t.Error("its socket is still there")
	}
}

func TestAChangeIsMadeByTheAgentAndAppliedByAStep(t *testing.T) {
	p := greeted(t, hosting(t), nil)
	c := p.follow()
	p.send(described(`,"turn":1,"options":[{"key":"amp","value":"off","choices":["off","bf16"]}]`))
	until(t, c, "the options", func(now *trace.Trace) bool { return len(now.Live.Options) == 1 })
	made := make(chan trace.Change, 1)
	go func() {
		change, err := c.Set(t.Context(), "amp", "bf16")
		if err != nil {
			t.Error(err)
		}
		made <- change
	}()
	for q := (question{}); q.Do != "change"; {
		q = p.asked()
		switch q.Do {
		case "watch": // a change that waits counts as a viewer
		case "change":
			p.send(entry(answerKind, number(q.ID), text("")))
		default:
			t.Errorf("asked %+v", q)
		}
	}
	if got := <-made; got.State != trace.Pending || got.Predicted != nil {
		t.Errorf("the change is %+v", got)
	}
	p.send(entry(stepKind, raw(`{"step":3,"time_us":9,"device":0,"settings":[{"key":"amp","value":"bf16"}]}`)))
	until(t, c, "the change to be applied", func(now *trace.Trace) bool {
		return len(now.Live.Changes) == 1 && now.Live.Changes[0].State == trace.Applied && now.Live.Changes[0].Step == 3
	})
}

func TestAProgramThatClosesTheLinkComesBack(t *testing.T) {
	h := hosting(t)
	p := greeted(t, h, nil)
	c := p.follow()
	_ = p.conn.Close()
	a := await(t, h)
	again := &pretender{t: t, socket: p.socket}
	var err error
	again.conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: h.Path(), Net: "unix"})
	fatal.If(t, err)
	defer again.conn.Close()
	start, _ := procfs.StartOf("/proc/self/stat")
	g := &greeting{Version: "1", Who: probe.Identity{PID: os.Getpid(), Start: start, Socket: p.socket}}
	fatal.If(t, json.Unmarshal([]byte(pretended), &g.Program))
	_, err = again.conn.Write(framed(g))
	fatal.If(t, err)
	if q := again.asked(); q.Do != "watch" || q.Viewers != 1 {
		t.Errorf("asked %+v, want to watch on", q)
	}
	again.send(step("7"))
	until(t, c, "its step", func(now *trace.Trace) bool { return len(now.Steps) == 1 && now.Steps[0].Number == 7 })
	if await(t, h) != a {
		t.Error("it counts as another agent")
	}
}

func TestAnAgentIsTakenOnlyForTheProcessThatTheKernelNames(t *testing.T) {
	h := hosting(t)
	p := greeted(t, h, func(g *greeting) { g.Who.PID = 1 })
	_ = p.conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := p.conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v, want the end", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.agents) > 0 {
		t.Error("it was taken")
	}
}

// TestAMessageThatIsNoneEndsTheLinkAndNotTheHost sends what no agent sends.
func TestAMessageThatIsNoneEndsTheLinkAndNotTheHost(t *testing.T) {
	for name, message := range map[string]string{
		"no message":          "\x01\x00\x00\x00x",
		"a length of 4 GiB":   "\xff\xff\xff\xff",
		"an unknown entry":    string(binary.LittleEndian.AppendUint32(nil, 15)) + list32('[', 1) + entry(99),
		"a step that is none": string(binary.LittleEndian.AppendUint32(nil, 21)) + list32('[', 1) + entry(stepKind, raw("x")),
	} {
		t.Run(name, func(t *testing.T) {
			h := hosting(t)
			p := greeted(t, h, nil)
			await(t, h)
			_, err := p.conn.Write([]byte(message))
			fatal.If(t, err)
			_ = p.conn.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := io.Copy(io.Discard, p.conn); err != nil {
				t.Errorf("got %v, want the end", err)
			}
			Dismiss(filepath.Join(filepath.Dir(h.Path()), "none")) // is none, and is no matter
			if conn, err := net.Dial("unix", h.Path()); err != nil {
				t.Errorf("the host has ended: %v", err)
			} else {
				_ = conn.Close()
			}
		})
	}
}

// TestTheSocketOfAKilledHostIsRemoved has a host that ends without removing it, beside one that runs.
func TestTheSocketOfAKilledHostIsRemoved(t *testing.T) {
	h := hosting(t)
	left := filepath.Join(filepath.Dir(h.Path()), "1-x.host")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: left, Net: "unix"})
	fatal.If(t, err)
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	protocol.RemoveStale(t.Context(), filepath.Dir(left))
	if _, err := os.Lstat(left); err == nil {
		t.Error("it is still there")
	}
	if _, err := os.Lstat(h.Path()); err != nil {
		t.Error("that of a host that runs is gone")
	}
}

func TestAHostProcessEndsWhenNobodyUsesIt(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "m")
	path, err := Start(t.Context(), folder, 0)
	fatal.If(t, err)
	Dismiss(path)
	if _, err := os.Lstat(path); err == nil {
		t.Error("its socket is still there")
	}
	fatal.If(t, os.Chmod(folder, 0o755))
	if _, err := Start(t.Context(), folder, 0); err == nil || !strings.Contains(err.Error(), "lets others in") {
		t.Errorf("a folder that is open to others: %v", err)
	}
}

// FuzzMessage has an agent send anything: it is read or refused, in bounded memory.
func FuzzMessage(f *testing.F) {
	for _, test := range marshalled {
		b, _ := hex.DecodeString(test.hex)
		f.Add(append([]byte("[\x01\x00\x00\x00(\x02\x00\x00\x00"), b...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a := served(t)
		_ = (&link{agent: a}).message(b)
	})
}

func TestAGaugeOfTheMachineGetsWhatTheKernelSays(t *testing.T) {
	p := greeted(t, hosting(t), nil)
	c := p.follow()
	p.send(entry(gaugesKind, raw(`[{"device":-1,"forked":[5],"host":{"step":3,"malloc":9}},{"device":0,"unified":true,"users":[{"pid":`+strconv.Itoa(os.Getpid())+`,"bytes":8}]}]`)))
	until(t, c, "gauges", func(now *trace.Trace) bool { return len(now.Live.Gauges) == 2 })
	machine, device := c.Trace().Live.Gauges[0], c.Trace().Live.Gauges[1]
	if h := machine.Host; machine.Process <= 0 || machine.Total <= machine.Used || h.Malloc != 9 || h.Step != 3 || h.Anonymous <= 0 {
		t.Errorf("the machine's is %+v with %+v", machine, h)
	}
	if device.Total != machine.Total || device.Used <= 0 || len(device.Users) != 1 || !strings.Contains(device.Users[0].Command, "sensor.test") {
		t.Errorf("the device's is %+v", device)
	}
}

var loaded = time.Now()

func TestAProgramsStartAndUserAreTheKernels(t *testing.T) {
	p := greeted(t, hosting(t), nil)
	live := p.follow().Trace().Live
	if before := loaded.Sub(time.UnixMicro(live.Started)); before < 0 || before > 30*time.Second {
		t.Errorf("it began %v before it was loaded", before)
	}
	if u, err := user.Current(); err == nil && live.User != u.Username {
		t.Errorf("its user is %q, want %q", live.User, u.Username)
	}
}

func TestARankIsWhatItsLauncherSays(t *testing.T) {
	for name, test := range map[string]struct {
		set  map[string]string
		want *trace.Rank
	}{
		"alone":     {map[string]string{"RANK": "0", "WORLD_SIZE": "1"}, nil},
		"no number": {map[string]string{"RANK": "x", "WORLD_SIZE": "8"}, nil},
		"too many":  {map[string]string{"RANK": "3", "WORLD_SIZE": "2097152"}, nil},
		"one of eight": {
			map[string]string{"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "node1", "MASTER_PORT": "29500"},
			&trace.Rank{Job: "node1.29500", Rank: 3, World: 8, Local: 1, Launcher: "torchrun"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := greeted(t, hosting(t), func(g *greeting) { g.Environment = test.set })
			if got := p.follow().Trace().Live.Rank; !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
