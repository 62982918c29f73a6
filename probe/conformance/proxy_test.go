package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/snapshots/trace"
)

// mutant is our own probe with one thing wrong.
type mutant struct {
	rule string // the first that it must be found to break

	ask    func(*http.Request)             // changes what the probe is asked
	answer func(*http.Request, *recorded)  // changes an answer that is no stream
	header func(h []byte)                  // changes the header of a stream
	frame  func(at int, f frame) []frame   // changes a frame of a stream
	kind   string                          // of the stream's content
	record func(trace.Event) []trace.Event // changes an event before the probe has it
	state  func(*trace.State)              // changes a state likewise
	set    []trace.Setting                 // of the allocator
	o      probe.Options
	place  func(t *testing.T, path string) string // changes where the socket is
}

// frame is one frame of a stream.
type frame struct {
	kind    byte
	payload []byte
	damaged bool
}

// recorded is an answer before it is sent.
type recorded struct {
	status int
	header http.Header
	body   []byte
}

// source is a program some of whose events are not as they should be.
type source struct {
	*probetest.Program
	m *mutant
}

// Observe has r record what the mutant makes of the events.
func (s source) Observe(r trace.Recorder) {
	if r == nil || s.m.record == nil {
		s.Program.Observe(r)
		return
	}
	s.Program.Observe(recorder{r, s.m})
}

type recorder struct {
	trace.Recorder
	m *mutant
}

// Record records what the mutant makes of an event.
func (r recorder) Record(device int, e trace.Event) {
	for _, e := range r.m.record(e) {
		r.Recorder.Record(device, e)
	}
}

// State returns what the mutant makes of the state.
func (s source) State(device int, at func()) trace.State {
	state := s.Program.State(device, at)
	if s.m.state != nil {
		s.m.state(&state)
	}
	return state
}

// Settings returns the mutant's.
func (s source) Settings() []trace.Setting {
	if s.m.set != nil {
		return s.m.set
	}
	return s.Program.Settings()
}

// running starts the mutant, and returns its socket.
func (m *mutant) running(t *testing.T) string {
	t.Helper()
	return m.proxy(t, m.behind(t))
}

// behind starts the probe that is behind the mutant, and returns its socket.
func (m *mutant) behind(t *testing.T) string {
	t.Helper()
	program := probetest.New()
	program.Epoch = time.Now().UnixMicro()
	o := m.o
	o.Dir, o.Control = filepath.Join(t.TempDir(), "inner"), program
	served, err := probe.Listen(t.Context(), o, source{program, m})
	fatal.If(t, err)
	train(t, program, served)
	return served.Path()
}

// proxy passes requests on to the socket behind it, and changes what comes back.
func (m *mutant) proxy(t *testing.T, behind string) string {
	t.Helper()
	start, err := procfs.StartOf("/proc/self/stat")
	if err != nil {
		t.Skip("the name of a socket needs /proc")
	}
	path := filepath.Join(shortFolder(t), protocol.SocketName(os.Getpid(), start))
	if m.place != nil {
		path = m.place(t, path)
	}
	l, err := net.Listen("unix", path) //nolint:noctx // the test's end closes it
	fatal.If(t, err)
	if m.place == nil {
		fatal.If(t, os.Chmod(path, 0o600))
	}
	to := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", behind)
	}}}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, to) })} //nolint:gosec // its only client is ours
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); to.CloseIdleConnections() })
	return path
}

// shortFolder returns a folder whose path leaves room for a socket's name.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "memtop")
	fatal.If(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

func (m *mutant) serve(w http.ResponseWriter, r *http.Request, to *http.Client) {
	if m.ask != nil {
		m.ask(r)
	}
	asked, err := http.NewRequestWithContext(r.Context(), r.Method, "http://probe"+r.URL.RequestURI(), r.Body)
	if err != nil {
		return
	}
	asked.Header = r.Header
	answer, err := to.Do(asked)
	if err != nil {
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if r.URL.Path == "/v1/stream" && answer.StatusCode == http.StatusOK {
		m.stream(w, answer)
		return
	}
	body, _ := io.ReadAll(answer.Body)
	a := &recorded{answer.StatusCode, answer.Header, body}
	if m.answer != nil {
		m.answer(r, a)
	}
	for name := range a.header {
		w.Header().Set(name, a.header.Get(name))
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

func (m *mutant) stream(w http.ResponseWriter, answer *http.Response) {
	kind := answer.Header.Get("Content-Type")
	from := bufio.NewReader(answer.Body)
	if m.kind != "" {
		w.Header().Set("Content-Type", m.kind)
	} else {
		w.Header().Set("Content-Type", kind)
	}
	out := bufio.NewWriter(w)
	flush := func() {
		if from.Buffered() == 0 {
			_ = out.Flush()
			_ = http.NewResponseController(w).Flush()
		}
	}
	m.frames(out, from, flush)
	_ = out.Flush()
}

func (m *mutant) frames(out io.Writer, from *bufio.Reader, flush func()) {
	header := make([]byte, 8)
	if _, err := io.ReadFull(from, header); err != nil {
		return
	}
	sum := header[7] >> 6
	if m.header != nil {
		m.header(header)
	}
	_, _ = out.Write(header)
	for at := 0; ; at++ {
		f, err := readFrame(from, sum)
		if err != nil {
			return
		}
		all := []frame{f}
		if m.frame != nil {
			all = m.frame(at, f)
		}
		for _, f := range all {
			if f.kind == endOfStream {
				return
			}
			_, _ = out.Write(f.bytes(sum))
		}
		flush()
	}
}

// endOfStream is the type of a frame that stands for none to come.
const endOfStream = 0xff

func readFrame(from *bufio.Reader, sum byte) (frame, error) {
	kind, err := from.ReadByte()
	if err != nil {
		return frame{}, err
	}
	length, err := binary.ReadUvarint(from)
	if err != nil {
		return frame{}, err
	}
	f := frame{kind: kind, payload: make([]byte, length)}
	if _, err := io.ReadFull(from, f.payload); err != nil || sum == 2 {
		return f, err
	}
	_, err = from.Discard(crc32.Size)
	return f, err
}

func (f frame) bytes(sum byte) []byte {
	b := append(binary.AppendUvarint([]byte{f.kind}, uint64(len(f.payload))), f.payload...)
	polynomial := []uint32{crc32.Castagnoli, crc32.IEEE, 0}[sum]
	if polynomial == 0 {
		return b
	}
	check := crc32.Checksum(b, crc32.MakeTable(polynomial))
	if f.damaged {
		check++
	}
	return binary.LittleEndian.AppendUint32(b, check)
}

// replaced has part of the payload of frames of a type replaced.
func replaced(kind byte, old, by string) func(int, frame) []frame {
	return func(_ int, f frame) []frame {
		if f.kind == kind {
			f.payload = bytes.Replace(f.payload, []byte(old), []byte(by), 1)
		}
		return []frame{f}
	}
}

// without leaves out frames of a type.
func without(kind byte) func(int, frame) []frame {
	return func(_ int, f frame) []frame {
		if f.kind == kind {
			return nil
		}
		return []frame{f}
	}
}

// before puts a frame before the first of a type.
func before(kind byte, more ...frame) func(int, frame) []frame {
	return func(at int, f frame) []frame {
		if f.kind == kind {
			return append(slices.Clone(more), f)
		}
		return []frame{f}
	}
}

// said has part of the answers of a path replaced.
func said(path, old, by string) func(*http.Request, *recorded) {
	return func(r *http.Request, a *recorded) {
		if strings.HasPrefix(r.URL.Path, path) && a.status == http.StatusOK {
			a.body = bytes.Replace(a.body, []byte(old), []byte(by), 1)
		}
	}
}

// status has answers with a status have another.
func status(old, by int) func(*http.Request, *recorded) {
	return func(_ *http.Request, a *recorded) {
		if a.status == old {
			a.status = by
		}
	}
}
