package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// The DevTools protocol over a pipe: objects of JSON, each with a zero after it.

// chromiums are the names under which the browser is installed.
var chromiums = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

var errEnded = errors.New("the browser ended")

// pipe is a running browser. It is owned by one goroutine; another one reads.
type pipe struct {
	to       *os.File
	messages chan message // closed when the browser has ended
	session  string       // the page's, once there is one
	last     int          // number of the last call
	heard    func(method string, params json.RawMessage)
	answered map[int]message // to calls that are waited for
}

type message struct {
	ID        int
	SessionID string
	Method    string
	Params    json.RawMessage
	Result    json.RawMessage
	Error     *struct{ Message string }
}

// start runs a browser, and ends it with the test.
func start(t testing.TB) *pipe {
	t.Helper()
	path := find()
	if path == "" {
		t.Skipf("no browser to look at the page with: none of %v is installed", chromiums)
	}
	ours, theirs := make([]*os.File, 2), make([]*os.File, 2)
	var err error
	for i, pair := range [][2]*[]*os.File{{&theirs, &ours}, {&ours, &theirs}} {
		if (*pair[0])[i], (*pair[1])[i], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, path, arguments(t.TempDir())...)
	command.ExtraFiles = theirs // files 3 and 4 there
	if err := command.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	p := &pipe{to: ours[0], messages: make(chan message), answered: make(map[int]message)}
	for _, file := range theirs {
		_ = file.Close()
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.read(ours[1], stop)
	}()
	t.Cleanup(func() {
		close(stop)
		_ = p.to.Close() // it ends when its pipe does
		late := time.AfterFunc(deadline, cancel)
		_ = command.Wait()
		late.Stop()
		cancel()
		<-done
	})
	return p
}

func find() string {
	for _, name := range chromiums {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// arguments start a browser that keeps to the folder and stays off the network.
func arguments(folder string) []string {
	all := []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + folder, "--no-first-run", "--disable-gpu",
		"--window-size=1000,900",
		"--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--host-resolver-rules=MAP * ~NOTFOUND",
	}
	if os.Geteuid() == 0 {
		all = append(all, "--no-sandbox") // which root cannot have
	}
	return all
}

// read hands over messages until the browser or the test ends.
func (p *pipe) read(from *os.File, stop <-chan struct{}) {
	defer close(p.messages)
	defer func() { _ = from.Close() }()
	for in := bufio.NewReader(from); ; {
		data, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(data[:len(data)-1], &m); err != nil {
			return
		}
		select {
		case p.messages <- m:
		case <-stop:
		}
	}
}

// send asks for something and does not wait for it.
func (p *pipe) send(method string, params map[string]any) error {
	p.last++
	if params == nil {
		params = map[string]any{}
	}
	request := map[string]any{"id": p.last, "method": method, "params": params}
	if p.session != "" {
		request["sessionId"] = p.session
	}
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	_, err = p.to.Write(append(data, 0))
	return err
}

// call asks for something and stores the answer, unless into is nil.
func (p *pipe) call(method string, params map[string]any, into any, end time.Time) error {
	if err := p.send(method, params); err != nil {
		return err
	}
	number := p.last
	for {
		if m, ok := p.answered[number]; ok {
			delete(p.answered, number)
			switch {
			case m.Error != nil:
				return errors.New(m.Error.Message)
			case into == nil:
				return nil
			}
			return json.Unmarshal(m.Result, into)
		}
		if err := p.hear(end); err != nil {
			return err
		}
	}
}

// hear takes one message.
func (p *pipe) hear(end time.Time) error {
	late := time.NewTimer(time.Until(end))
	defer late.Stop()
	select {
	case m, ok := <-p.messages:
		switch {
		case !ok:
			return errEnded
		case m.ID > 0:
			p.answered[m.ID] = m
		case p.heard != nil && m.SessionID == p.session: // and not an earlier page's
			p.heard(m.Method, m.Params)
		}
		return nil
	case <-late.C:
		return fmt.Errorf("not within %v", deadline)
	}
}
