// Package browsertest opens pages in a headless Chromium, to test how browsers
// show our files. The test gives the browser all files: the browser fetches
// nothing from the network, and no port is opened. If a page requests any other
// file, that is a problem of the page.
package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// deadline is how long a page may take to show something. It is generous: the
// race detector and a busy machine are slow.
const deadline = time.Minute

// File is a file that the browser can request.
type File struct{ Type, Content string }

// Browser is a running browser. It has one page open at a time, and is owned by
// the test's goroutine.
type Browser struct{ pipe *pipe }

// Start starts a browser, which ends with the test. It skips the test if there is
// no Chromium.
func Start(t testing.TB) *Browser {
	t.Helper()
	return &Browser{start(t)}
}

// Page is an open page. It stays open until the browser opens the next page.
type Page struct {
	t        testing.TB
	pipe     *pipe
	files    map[string]File
	problems []string
	loaded   bool
}

// Open opens the file with that address and waits until it has been loaded. The
// argument files has all files that the page can request, by address. If the
// browser fails to open the page, Open ends the test t.
func (b *Browser) Open(t testing.TB, url string, files map[string]File) *Page {
	t.Helper()
	p := &Page{t: t, pipe: b.pipe, files: files}
	p.pipe.heard, p.pipe.session = p.heard, ""
	var target struct{ TargetID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	p.pipe.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.call(domain+".enable", nil, nil)
	}
	p.call("Fetch.enable", map[string]any{"patterns": []any{map[string]any{"urlPattern": "*"}}}, nil)
	p.call("Page.navigate", map[string]any{"url": url}, nil)
	for end := time.Now().Add(deadline); !p.loaded; {
		p.hear(end)
	}
	return p
}

// Problems returns the problems of the page so far: exceptions, errors on its
// console, actions that its policy refused, and requests for missing files.
func (p *Page) Problems() []string { return p.problems }

// Evaluate evaluates an expression in the page and stores its value in into,
// unless that is nil. The expression may be a promise.
func (p *Page) Evaluate(expression string, into any) {
	p.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *exception
	}
	p.call("Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true,
	}, &answer)
	if answer.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(answer.Result.Value, into); err != nil {
		p.t.Fatalf("%s gives %s: %v", expression, answer.Result.Value, err)
	}
}

// Mouse sends a mouse event at a place of the window. kind is "mouseMoved",
// "mousePressed", "mouseReleased" or "mouseWheel". turned is how many pixels the
// wheel turns, negative for upwards.
func (p *Page) Mouse(kind string, x, y, turned float64) {
	p.t.Helper()
	event := map[string]any{"type": kind, "x": x, "y": y, "deltaX": 0, "deltaY": turned}
	if kind == "mousePressed" || kind == "mouseReleased" {
		event["button"], event["buttons"], event["clickCount"] = "left", 1, 1
	}
	p.call("Input.dispatchMouseEvent", event, nil)
}

// Key presses and releases a key, as "ArrowLeft".
func (p *Page) Key(name string) {
	p.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		p.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": name, "code": name}, nil)
	}
}

// Look gives the window a width in pixels, and the page the colours of a scheme:
// light or dark.
func (p *Page) Look(width int, scheme string) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Spoken is a thing that a screen reader tells of, with its role and its name.
type Spoken struct{ Role, Name string }

// Spoken returns all of them, in the page's order.
func (p *Page) Spoken() (all []Spoken) {
	p.t.Helper()
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value string }
		}
	}
	p.call("Accessibility.getFullAXTree", nil, &tree)
	for _, n := range tree.Nodes {
		if !n.Ignored {
			all = append(all, Spoken{n.Role.Value, n.Name.Value})
		}
	}
	return all
}

func (p *Page) call(method string, params map[string]any, into any) {
	p.t.Helper()
	if err := p.pipe.call(method, params, into, time.Now().Add(deadline)); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}

func (p *Page) hear(end time.Time) {
	p.t.Helper()
	if err := p.pipe.hear(end); err != nil {
		p.t.Fatalf("waiting for the page: %v", err)
	}
}

// exception is what the browser says of one.
type exception struct {
	Text      string
	Exception struct{ Description string }
}

// String returns it in one line or several.
func (e *exception) String() string { return e.Text + " " + e.Exception.Description }

// heard takes note of an event.
func (p *Page) heard(method string, params json.RawMessage) {
	var event struct {
		ExceptionDetails exception
		Entry            struct{ Level, Text, URL string }
		Type             string
		Args             []struct{ Value any }
		RequestID        string
		Request          struct{ URL string }
	}
	if err := json.Unmarshal(params, &event); err != nil {
		p.problem("%s: %v", method, err)
		return
	}
	switch method {
	case "Page.loadEventFired":
		p.loaded = true
	case "Runtime.exceptionThrown":
		p.problem("%s", event.ExceptionDetails.String())
	case "Log.entryAdded":
		if event.Entry.Level == "error" {
			p.problem("%s %s", event.Entry.Text, event.Entry.URL)
		}
	case "Runtime.consoleAPICalled":
		if event.Type == "error" || event.Type == "assert" {
			p.problem("console: %v", event.Args)
		}
	case "Fetch.requestPaused":
		p.answer(event.RequestID, event.Request.URL)
	}
}

func (p *Page) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// answer gives the browser a file, or refuses.
func (p *Page) answer(request, url string) {
	file, ok := p.files[url]
	var err error
	if ok {
		err = p.pipe.send("Fetch.fulfillRequest", map[string]any{
			"requestId": request, "responseCode": 200, "body": base64.StdEncoding.EncodeToString([]byte(file.Content)),
			"responseHeaders": []any{map[string]any{"name": "Content-Type", "value": file.Type}},
		})
	} else {
		p.problem("the page asks for %s", url)
		err = p.pipe.send("Fetch.failRequest", map[string]any{"requestId": request, "errorReason": "AddressUnreachable"})
	}
	if err != nil {
		p.problem("answering a request for %s: %v", url, err)
	}
}
