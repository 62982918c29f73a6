package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// What a viewer accepts from a program.
const (
	maxAnswer    = 4 << 20          // bytes of an answer in JSON
	maxInfo      = 64 << 10         // bytes of a program's description: room for 500 devices
	answerWithin = 10 * time.Second // from a request to the end of an answer in JSON, or the begin of a longer one
)

// asker makes requests to one program. Safe for concurrent use.
type asker struct {
	endpoint endpoint
	viewer   string
	patience time.Duration // how long the program may be silent
	http     *http.Client
}

func (e endpoint) asker(viewer string) *asker {
	return &asker{e, viewer, answerWithin, &http.Client{
		Transport: &http.Transport{
			DialContext:            e.dial,
			DisableCompression:     true,
			MaxResponseHeaderBytes: protocol.MaxHeaderBytes,
			MaxIdleConns:           1,
			IdleConnTimeout:        protocol.IdleTimeout / 2, // before the program closes it
		},
		// A program has no reason to redirect its viewers.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// dial connects for an asker.
func (e endpoint) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := e.open(ctx)
	if err != nil {
		return nil, dialError{e.orEnded(err)}
	}
	return conn, nil
}

// close closes connections that are not in use.
func (a *asker) close() { a.http.CloseIdleConnections() }

// get begins to read the answer of a path; the caller closes it.
func (a *asker) get(ctx context.Context, path string) (*answer, error) {
	return a.do(ctx, http.MethodGet, path, nil)
}

// post sends a value to a path, and reads the answer.
func (a *asker) post(ctx context.Context, path string, value, answer any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	from, err := a.do(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	return from.readJSON(maxAnswer, answer)
}

func (a *asker) do(ctx context.Context, method, path string, body []byte) (*answer, error) {
	from := a.newAnswer(ctx)
	waited := from.wait()
	response, err := a.send(from.ctx, method, path, body)
	waited()
	if err != nil {
		err = from.meant(err)
		from.stop()
		return nil, err
	}
	from.body = response.Body
	if response.StatusCode == http.StatusOK {
		return from, nil
	}
	defer func() { _ = from.Close() }() // the needed part has been read
	return nil, from.refused(response)
}

func (a *asker) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://memtop"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Memtop-Viewer", a.viewer)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return a.http.Do(request)
}

// refused returns the error that the program sent instead of an answer.
func (a *answer) refused(response *http.Response) error {
	text, err := a.readAll(maxAnswer)
	if a.err != nil {
		return a.unreadable("answer", err)
	}
	var reply struct {
		Error  string `json:"error"`
		Holder string `json:"holder"`
	}
	plain := json.Unmarshal(text, &reply) != nil || reply.Error == ""
	if plain {
		reply.Error = fmt.Sprintf("%s answered %s", a.from.endpoint, response.Status)
	}
	reply.Error = trace.Printable(reply.Error)
	switch {
	case response.StatusCode == http.StatusForbidden:
		return &PermissionError{Cause: reply.Error}
	case plain:
		return &RefusedError{Cause: reply.Error, Remedy: "update memtop or the program if one is much older"}
	case response.StatusCode == http.StatusConflict && reply.Holder != "":
		return &protocol.HeldError{Holder: trace.Printable(reply.Holder)}
	case response.StatusCode == http.StatusServiceUnavailable:
		return &RefusedError{Cause: fmt.Sprintf("%s is busy: %s", a.from.endpoint, reply.Error), Busy: true}
	}
	return &RefusedError{Cause: fmt.Sprintf("%s refuses: %s", a.from.endpoint, reply.Error)}
}

// readJSON reads a whole answer of at most limit bytes, and closes it.
func (a *answer) readJSON(limit int64, value any) error {
	defer func() { _ = a.Close() }() // it was only read
	text, err := a.readAll(limit)
	if err == nil {
		err = json.Unmarshal(text, value)
	}
	if err != nil {
		return a.unreadable("answer", err)
	}
	return nil
}

func (a *answer) readAll(limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(a, limit+1))
	if int64(len(text)) > limit {
		err = fmt.Errorf("it is longer than %d bytes", limit)
	}
	return text, err
}

// viewerName is the name that other viewers see when this program changes
// settings.
func viewerName() string { return "memtop-" + strconv.Itoa(os.Getpid()) }

// settings asks the program for its settings and all changes of them.
func (a *asker) settings(ctx context.Context) (*protocol.Settings, error) {
	from, err := a.get(ctx, "/v1/settings")
	if err != nil {
		return nil, err
	}
	answer := new(protocol.Settings)
	return answer, from.readJSON(maxAnswer, answer)
}

// info asks the program who it is.
func (e endpoint) info(ctx context.Context) (_ *protocol.Info, err error) {
	defer caught(&err) // callers ask many programs at a time, each on a goroutine
	a := e.asker("")
	defer a.close()
	return a.info(ctx)
}

// info asks the program for its description. Another protocol version is an
// error.
func (a *asker) info(ctx context.Context) (*protocol.Info, error) {
	from, err := a.get(ctx, "/v1/info")
	if err != nil {
		return nil, err
	}
	var info protocol.Info
	if err := from.readJSON(maxInfo, &info); err != nil {
		return nil, err
	}
	if info.Version != wire.Version {
		return nil, &wire.VersionError{Theirs: info.Version, Ours: wire.Version}
	}
	if reason := info.Malformed(); reason != "" {
		return nil, &MalformedError{a.endpoint.String(), "answer", reason}
	}
	return &info, nil
}
