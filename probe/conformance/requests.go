package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

const contentJSON = "application/json"

// refusal is a request that must be refused with a status.
type refusal struct {
	rule string
	request
	status int
}

// refusals are those that cost a program nothing.
var refusals = []refusal{
	{"http.404", get("/"), http.StatusNotFound},
	{"http.404", get("/v1/nothing"), http.StatusNotFound},
	{"http.404", get("/v2/info"), http.StatusNotFound},
	{"http.404", get("/v1/../../etc/passwd"), http.StatusNotFound},
	{"http.405", request{method: http.MethodDelete, path: "/v1/info"}, http.StatusMethodNotAllowed},
	{"http.405", request{method: http.MethodPost, path: "/v1/info"}, http.StatusMethodNotAllowed},
	{"http.405", request{method: http.MethodPut, path: "/v1/settings"}, http.StatusMethodNotAllowed},
	{"http.405", request{method: http.MethodPost, path: "/v1/stream"}, http.StatusMethodNotAllowed},
	{"http.405", request{method: http.MethodPost, path: "/metrics"}, http.StatusMethodNotAllowed},
	{"http.400", get("/v1/stream?interval=soon"), http.StatusBadRequest},
	{"http.400", get("/v1/stream?interval=100"), http.StatusBadRequest},
	{"http.viewer-name", request{method: http.MethodGet, path: "/v1/stream", viewer: strings.Repeat("x", 65)}, http.StatusBadRequest},
	{"http.viewer-name", request{method: http.MethodGet, path: "/v1/stream", viewer: "caf\xc3\xa9"}, http.StatusBadRequest},
}

// setting are those that a program refuses whose settings can be changed.
var settingRefusals = []refusal{
	{"http.400", post("{\"set\":"), http.StatusBadRequest},
	{"http.400", post("[1,2,3]"), http.StatusBadRequest},
	{"http.400", post("{\"set\":{}}"), http.StatusBadRequest},
	{"http.400", post("{\"set\":{\"\u0000none\":{\"$ne\":1}}}"), http.StatusBadRequest},
	{"http.413", post("{\"set\":{\"none\":\"" + strings.Repeat("x", 1<<20) + "\"}}"), http.StatusRequestEntityTooLarge},
	{"prediction.refused", get("/v1/prediction"), http.StatusBadRequest},
	{"prediction.refused", get("/v1/prediction?key=%01none&value=x"), http.StatusBadRequest},
}

// readOnlyRefusals are those of a program whose settings cannot be changed.
var readOnlyRefusals = []refusal{
	{"http.403", post("{\"set\":{\"none\":\"x\"}}"), http.StatusForbidden},
	{"http.403", get("/v1/prediction?key=none&value=x"), http.StatusForbidden},
}

func post(body string) request {
	return request{method: http.MethodPost, path: "/v1/settings", body: body}
}

// examineRefusals asks for what makes no sense.
func (e *examination) examineRefusals(ctx context.Context) {
	all := append([]refusal{}, refusals...)
	if e.info.ReadOnly || !e.can("control") {
		all = append(all, readOnlyRefusals...)
		e.unseen("http.413", "no request of a read-only program has a body that it must read")
		e.unseen("prediction.refused", "settings cannot be changed: the program is read-only")
	} else {
		all = append(all, settingRefusals...)
		e.unseen("http.403", "the program is not read-only, and its viewer is its own user")
	}
	for i := range all {
		e.refused(ctx, &all[i])
	}
}

func (e *examination) refused(ctx context.Context, r *refusal) {
	want := fmt.Sprintf("status %d and {\"error\": …}", r.status)
	a, err := e.viewer.ask(ctx, r.request)
	if err != nil {
		e.broken(r.rule, want, "%v", err)
		return
	}
	if e.check(r.rule, a.status == r.status, want, "%v: status %d", short(r.request), a.status) {
		e.errorOf(a)
	}
}

// short is a request whose path is not too long to be read.
func short(r request) string {
	text := r.String()
	if r.body != "" {
		text += fmt.Sprintf(" with the body %.40q", r.body)
	}
	if r.viewer != "" {
		text += fmt.Sprintf(" with Memtop-Viewer: %.20q", r.viewer)
	}
	return text
}

// errorOf looks at what a refusal says.
func (e *examination) errorOf(a *answer) {
	const want = "one JSON object with one line of error, as " + contentJSON
	var said struct {
		Error string `json:"error"`
	}
	err := json.Unmarshal(a.body, &said)
	line := err == nil && said.Error != "" && !strings.ContainsAny(said.Error, "\n\r")
	e.check("http.error", line, want, "%v: %s", short(a.request), bytes.TrimSpace(a.body))
	e.check("http.error", contentType(a.header) == contentJSON, want, "%v: Content-Type: %s", short(a.request), a.header.Get("Content-Type"))
}
