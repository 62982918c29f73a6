package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/memtop/memtop/probe/protocol"
)

// maxBody is how many bytes a request may have.
const maxBody = 64 << 10

const contentJSON = "application/json"

// refusal is a request that must be refused with a status.
type refusal struct {
	rule string
	request
	status int
}

// refusals are the refused requests that cost a program nothing.
var refusals = []refusal{
	{"http.404", get("/"), http.StatusNotFound},
	{"http.404", get("/v1/nothing"), http.StatusNotFound},
	{"http.404", get("/v2/info"), http.StatusNotFound},
	{"http.404", get("/v1/../../etc/passwd"), http.StatusNotFound},
	{"http.405", request{method: http.MethodDelete, path: "/v1/info"}, http.StatusMethodNotAllowed},
	{"http.405", request{method: http.MethodPost, path: "/v1/info"}, http.StatusMethodNotAllowed},
	{"http.405", request{method: http.MethodPut, path: "/v1/settings"}, http.StatusMethodNotAllowed},
	{"http.405", request{method: http.MethodPost, path: "/v1/stream"}, http.StatusMethodNotAllowed},
	{"http.400", get("/v1/stream?interval=soon"), http.StatusBadRequest},
	{"http.400", get("/v1/stream?interval=100"), http.StatusBadRequest},
	{"settings.name", request{method: http.MethodGet, path: "/v1/stream", viewer: strings.Repeat("x", 65)}, http.StatusBadRequest},
	{"settings.name", request{method: http.MethodGet, path: "/v1/stream", viewer: "caf\xc3\xa9"}, http.StatusBadRequest},
}

// settingRefusals are for a program whose settings can be changed.
var settingRefusals = []refusal{
	{"http.400", post("{\"set\":"), http.StatusBadRequest},
	{"http.400", post("[1,2,3]"), http.StatusBadRequest},
	{"http.400", post("{\"set\":{}}"), http.StatusBadRequest},
	{"http.400", post("{\"set\":{\"\u0000none\":{\"$ne\":1}}}"), http.StatusBadRequest},
	{"http.413", post("{\"set\":{\"none\":\"" + strings.Repeat("x", maxBody) + "\"}}"), http.StatusRequestEntityTooLarge},
	{"prediction.refused", get("/v1/prediction"), http.StatusBadRequest},
	{"prediction.refused", get("/v1/prediction?key=%01none&value=x"), http.StatusBadRequest},
	{"prediction.refused", get("/v1/prediction?capacity=all"), http.StatusBadRequest},
}

// readOnlyRefusals are for a program whose settings cannot be changed.
var readOnlyRefusals = []refusal{
	{"settings.read-only", post("{\"set\":{\"none\":\"x\"}}"), http.StatusForbidden},
	{"settings.read-only", get("/v1/prediction?key=none&value=x"), http.StatusForbidden},
}

func post(body string) request {
	return request{method: http.MethodPost, path: "/v1/settings", body: body}
}

// examineRefusals sends invalid requests.
func (e *examination) examineRefusals(ctx context.Context) {
	all := append([]refusal{}, refusals...)
	switch {
	case e.changeable():
		all = append(all, settingRefusals...)
	case e.info.ReadOnly:
		all = append(all, readOnlyRefusals...)
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
	if !e.check(r.rule, a.status == r.status, want, "%v: status %d", short(r.request), a.status) {
		return
	}
	e.errorOf(a)
	if a.status == http.StatusMethodNotAllowed {
		e.check(r.rule, a.header.Get("Allow") != "", "Allow: the methods that are", "%v: no Allow", short(r.request))
	}
}

// changeable reports whether the program allows changes of its settings.
func (e *examination) changeable() bool {
	return !e.info.ReadOnly && e.can(protocol.CapabilityControl)
}

// examineCapabilities asks for the settings, and for a path with unknown parameters.
func (e *examination) examineCapabilities(ctx context.Context) {
	if e.can(protocol.CapabilityControl) {
		a, err := e.viewer.ask(ctx, get("/v1/settings"))
		e.check("http.capabilities", err == nil && a.status == http.StatusOK, "/v1/settings with the capability control", "%v", statusOf(a, err))
	}
	a, err := e.viewer.ask(ctx, get("/v1/info?nothing=1&past"))
	e.check("http.unknown", err == nil && a.status == http.StatusOK, "status 200 with a parameter that is not known", "%v", statusOf(a, err))
}

// statusOf describes the answer to a request.
func statusOf(a *answer, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%v: status %d", short(a.request), a.status)
}

// short shortens a request's path for a message.
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

// errorOf checks the body of a refusal.
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
