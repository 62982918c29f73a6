package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
)

// Limits of an answer.
const (
	answerWithin = 10 * time.Second
	maxAnswer    = 4 << 20 // bytes of JSON or metrics
	maxInfo      = 64 << 10
)

// viewer asks a program. Safe for concurrent use.
type viewer struct {
	place attach.Place
	name  string
	http  *http.Client
}

func newViewer(place attach.Place, name string) *viewer {
	return &viewer{place, name, &http.Client{
		Transport: &http.Transport{
			DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return place.Connect(ctx) },
			DisableCompression:     true,
			MaxResponseHeaderBytes: protocol.MaxHeaderBytes,
			MaxIdleConns:           1,
			IdleConnTimeout:        protocol.IdleTimeout / 2,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (v *viewer) close() { v.http.CloseIdleConnections() }

// request is a request to the probe.
type request struct {
	method, path string
	accept       string
	viewer       string // used instead of the viewer's own name
	body         string
}

func (r request) String() string {
	text := r.method + " " + r.path
	if r.accept != "" {
		text += " with Accept: " + r.accept
	}
	return text
}

func get(path string) request { return request{method: http.MethodGet, path: path} }

// answer is the answer to a request.
type answer struct {
	request
	status int
	proto  string
	header http.Header
	body   []byte
}

// open sends a request and returns the answer when it begins. The caller closes
// its body, and cancels ctx when it needs no more of it.
func (v *viewer) open(ctx context.Context, r request) (*http.Response, error) {
	asked, err := http.NewRequestWithContext(ctx, r.method, "http://memtop"+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	asked.Header.Set("Memtop-Viewer", cmp.Or(r.viewer, v.name))
	if r.accept != "" {
		asked.Header.Set("Accept", r.accept)
	}
	if r.body != "" {
		asked.Header.Set("Content-Type", "application/json")
	}
	return v.http.Do(asked)
}

// ask returns a whole answer of at most maxAnswer bytes.
func (v *viewer) ask(ctx context.Context, r request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	response, err := v.open(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%v: no answer: %w", r, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("%v: the answer breaks off: %w", r, err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("%v: the answer has more than %d bytes", r, maxAnswer)
	}
	return &answer{r, response.StatusCode, response.Proto, response.Header, body}, nil
}

// contentType returns the content type of a header, without parameters.
func contentType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return h.Get("Content-Type")
	}
	return kind
}

// object reads an answer that should be one JSON object.
func (a *answer) object() (map[string]json.RawMessage, error) {
	var o map[string]json.RawMessage
	err := json.Unmarshal(a.body, &o)
	if err == nil && o == nil {
		err = fmt.Errorf("it is %.20q and no object", a.body)
	}
	return o, err
}
