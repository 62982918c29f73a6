package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"memtop/snapshots/trace"
	"memtop/snapshots/wire"
)

// What a viewer bears from a program.
const (
	maxAnswer    = 4 << 20          // bytes of an answer in JSON
	maxReason    = 1 << 10          // bytes of an error's text
	answerWithin = 10 * time.Second // from a request to the first byte of the answer
)

// asker makes requests to one program. Safe for concurrent use.
type asker struct {
	endpoint endpoint
	viewer   string
	http     *http.Client
}

func (e endpoint) asker(viewer string) *asker {
	return &asker{e, viewer, &http.Client{
		Transport: &http.Transport{
			DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return e.connect(ctx) },
			DisableCompression:     true,
			ResponseHeaderTimeout:  answerWithin,
			MaxResponseHeaderBytes: maxHeaderBytes,
			MaxIdleConns:           1,
			IdleConnTimeout:        idleTimeout / 2, // before the program ends it
		},
		// A program has no reason to send its viewers elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// close gives up connections that are not in use.
func (a *asker) close() { a.http.CloseIdleConnections() }

// get begins to read what is at a path; the caller closes it.
func (a *asker) get(ctx context.Context, path string) (io.ReadCloser, error) {
	return a.do(ctx, http.MethodGet, path, nil)
}

func (a *asker) do(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://memtop"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Memtop-Viewer", a.viewer)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := a.http.Do(request)
	if err != nil {
		return nil, a.reason(ctx, err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer func() { _ = response.Body.Close() }() // what matters of it has been read
	return nil, refused(response)
}

// reason takes the request's address, which says nothing, out of an error.
func (a *asker) reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &SilentError{a.endpoint.pid}
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// refused returns what the program said instead of an answer.
func refused(response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReason))
	if err != nil {
		return err
	}
	var answer struct {
		Error  string `json:"error"`
		Holder string `json:"holder"`
	}
	if json.Unmarshal(text, &answer) != nil || answer.Error == "" {
		answer.Error = fmt.Sprintf("the program answered %s", response.Status)
	}
	answer.Error = trace.Printable(answer.Error)
	switch {
	case response.StatusCode == http.StatusConflict && answer.Holder != "":
		return &HeldError{trace.Printable(answer.Holder)}
	case response.StatusCode == http.StatusForbidden:
		return &PermissionError{Cause: answer.Error}
	}
	return errors.New(answer.Error)
}

// readJSON reads an answer in full.
func (a *asker) readJSON(body io.ReadCloser, value any) error {
	defer func() { _ = body.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("process %d answers nonsense: %w", a.endpoint.pid, err)
	}
	return nil
}

// info asks the program who it is. Another protocol is an error.
func (e endpoint) info(ctx context.Context) (*Info, error) {
	a := e.asker("")
	defer a.close()
	body, err := a.get(ctx, "/v1/info")
	if err != nil {
		return nil, err
	}
	var info Info
	if err := a.readJSON(body, &info); err != nil {
		return nil, err
	}
	if info.Version != wire.Version {
		return nil, &wire.VersionError{Theirs: info.Version, Ours: wire.Version}
	}
	return &info, nil
}
