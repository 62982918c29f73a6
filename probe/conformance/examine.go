package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// DefaultFor is how long a stream is watched by default.
const DefaultFor = 5 * time.Second

// Limits of an answer.
const (
	answerWithin = 10 * time.Second
	maxInfo      = 64 << 10 // bytes of /v1/info
	maxAnswer    = 4 << 20  // bytes of other JSON
)

// examination is one examination of one program.
type examination struct {
	*Report
	place attach.Place
	http  *http.Client
	info  protocol.Info // its first answer
}

// Examine asks a program's probe for all it has, and watches its stream for some
// time. The target and the errors are those of [attach.Dial]; the report has the
// probe's own faults.
func Examine(ctx context.Context, target string, long time.Duration) (*Report, error) {
	place, err := attach.Locate(ctx, target)
	if err != nil {
		return nil, err
	}
	connect := func(ctx context.Context, _, _ string) (net.Conn, error) { return place.Connect(ctx) }
	e := &examination{Report: newReport(place), place: place, http: &http.Client{Transport: &http.Transport{
		DialContext: connect, MaxResponseHeaderBytes: protocol.MaxHeaderBytes, IdleConnTimeout: protocol.IdleTimeout / 2,
	}}}
	defer e.http.CloseIdleConnections()
	e.examinePlace()
	if e.info, err = e.askInfo(ctx); err != nil {
		return nil, fmt.Errorf("%v: %w", place, err)
	}
	if v := e.info.Version; v != 0 && v != wire.Version {
		return nil, &wire.VersionError{Theirs: v, Ours: wire.Version}
	}
	e.describe(&e.info)
	if err := e.watch(ctx, long); err != nil {
		return nil, err
	}
	e.examineAnswers(ctx)
	return e.finish(), context.Cause(ctx)
}

// examinePlace checks the socket and its folder. The connection checks that the
// process in the socket's name listens there.
func (e *examination) examinePlace() {
	path := e.place.Socket()
	socket, err := os.Lstat(path)
	folder, err2 := os.Stat(filepath.Dir(path))
	if err != nil || err2 != nil || runtime.GOOS == "windows" { // where modes have no meaning
		return
	}
	_, _, named := protocol.ParseSocketName(filepath.Base(path))
	e.check("S2", named, "%s", filepath.Base(path))
	e.check("S3", folder.Mode().Perm() == 0o700, "a folder of mode %04o", folder.Mode().Perm())
	e.check("S3", socket.Mode().Perm() == 0o600, "a socket of mode %04o", socket.Mode().Perm())
}

// request is a request to the probe.
type request struct{ method, path, viewer, body string }

func get(path string) request { return request{method: http.MethodGet, path: path} }

// open sends a request. The caller closes the answer's body.
func (e *examination) open(ctx context.Context, r request) (*http.Response, error) {
	asked, err := http.NewRequestWithContext(ctx, r.method, "http://memtop"+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	asked.Header.Set("Memtop-Viewer", cmp.Or(r.viewer, "memtop-conformance"))
	return e.http.Do(asked)
}

// ask returns an answer of JSON, and its status.
func (e *examination) ask(ctx context.Context, r request) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	response, err := e.open(ctx, r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if kind := response.Header.Get("Content-Type"); err == nil && (!strings.HasPrefix(kind, "application/json") || len(body) > maxAnswer) {
		err = fmt.Errorf("%d bytes of %q", len(body), kind)
	}
	return response.StatusCode, body, err
}

// askInfo asks the program to describe itself. An error is that of the connection.
func (e *examination) askInfo(ctx context.Context) (info protocol.Info, err error) {
	status, body, err := e.ask(ctx, get("/v1/info"))
	if status == 0 {
		return info, err
	}
	if err == nil {
		err = json.Unmarshal(body, &info)
	}
	if e.check("R1", err == nil && status == http.StatusOK && len(body) <= maxInfo, "status %d, %d bytes: %v", status, len(body), err) {
		e.check("I1", info.PID > 0 && info.Command != "" && plausible(info.Started), "pid %d, command %q, started_us %d", info.PID, info.Command, info.Started)
		e.check("I2", info.Malformed() == "", "%s", info.Malformed())
	}
	return info, nil
}

func (e *examination) can(capability string) bool {
	return slices.Contains(e.info.Capabilities, capability)
}

// examineAnswers makes the requests with an immediate answer.
func (e *examination) examineAnswers(ctx context.Context) {
	e.examineSnapshot(ctx)
	e.examineSettings(ctx)
	e.examineRefusals(ctx)
	after, err := e.askInfo(ctx)
	if e.check("S8", err == nil, "%v", err) {
		first := &e.info
		e.check("I4", after.Step >= first.Step && after.Dropped >= first.Dropped && after.ProbeNS >= first.ProbeNS && after.ViewersNS >= first.ViewersNS,
			"step %d, dropped %d; then %d, %d", first.Step, first.Dropped, after.Step, after.Dropped)
	}
}

// examineSnapshot reads a snapshot as memtop would.
func (e *examination) examineSnapshot(ctx context.Context) {
	if !e.can(protocol.CapabilitySnapshot) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	response, err := e.open(ctx, get("/v1/snapshot"))
	if !e.check("R4", err == nil, "%v", err) {
		return
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	t, err := pytorch.Decode(ctx, response.Body, pytorch.Options{Bound: trace.DefaultBound})
	e.check("R4", err == nil && !t.Info.Truncated, "status %d; read as a pickle: %v", response.StatusCode, err)
}

func (e *examination) examineSettings(ctx context.Context) {
	if !e.can(protocol.CapabilityControl) {
		return
	}
	status, body, err := e.ask(ctx, get("/v1/settings"))
	var said map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(body, &said)
	}
	_, options := said["options"]
	_, changes := said["changes"]
	e.check("R5", err == nil && status == http.StatusOK && options && changes, "status %d, options %v, changes %v: %v", status, options, changes, err)
}

// refusals are requests that a probe must refuse, each with one of the statuses.
var refusals = []struct {
	label string
	request
	statuses []int
}{
	{"S6", get("/v1/nothing"), []int{http.StatusNotFound}},
	{"S6", get("/v1/../../etc/passwd"), []int{http.StatusNotFound}},
	{"S6", request{method: http.MethodDelete, path: "/v1/info"}, []int{http.StatusMethodNotAllowed}},
	{"S6", get("/v1/stream?interval=soon"), []int{http.StatusBadRequest}},
	{"C1", request{method: http.MethodGet, path: "/v1/stream", viewer: strings.Repeat("x", 65)}, []int{http.StatusBadRequest}},
	{"R6", request{method: http.MethodPost, path: "/v1/settings", body: `{"set":`}, []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound}},
	{"R7", get("/v1/prediction"), []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound}},
}

// examineRefusals sends requests that make no sense. Those of settings may also be
// refused because the program has none, or is read-only.
func (e *examination) examineRefusals(ctx context.Context) {
	for _, r := range refusals {
		status, body, err := e.ask(ctx, r.request)
		var said struct{ Error string }
		if err == nil {
			err = json.Unmarshal(body, &said)
		}
		line := said.Error != "" && !strings.ContainsAny(said.Error, "\r\n")
		e.check(r.label, slices.Contains(r.statuses, status) && line && err == nil, "%s %s: status %d instead of %v: %s (%v)",
			r.method, r.path, status, r.statuses, bytes.TrimSpace(body), err)
	}
}
