package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// Machine is an [attach.Far] at the other end of a link. When the link is lost,
// the next request starts a bridge again. ssh then may not ask for a password,
// because a screen may own the terminal. Safe for concurrent use.
type Machine struct {
	way Way
	ctx context.Context // for all that the machine starts; done when it is closed
	end context.CancelFunc
	all sync.WaitGroup // attempts

	mu      sync.Mutex
	now     *attempt  // the newest, nil before the first
	failed  int       // attempts in a row
	notWait time.Time // no attempt before this time, after a failed one
}

// attempt is a bridge that is starting, runs, or failed to start.
type attempt struct {
	done chan struct{} // closed when the fields below are set
	link *link
	err  error
}

// How long to wait after a failed attempt.
const (
	firstWait   = time.Second // doubled with each
	longestWait = 30 * time.Second
	deniedWait  = time.Minute // after a refused login, since a host may count those
)

// maxAnswer bounds the bytes of an answer: room for a thousand programs.
const maxAnswer = 16 << 20

// Open starts a bridge and waits until it has greeted. With ask, ssh may ask the user
// for a password on the terminal, for as long as ctx allows. The error is an
// [*attach.HostError]. The caller closes the machine.
func Open(ctx context.Context, way Way, ask bool) (*Machine, error) {
	m := &Machine{way: way}
	m.ctx, m.end = context.WithCancel(context.Background())
	first := m.attempt(ask)
	select {
	case <-first.done:
	case <-ctx.Done():
		m.Close()
		return nil, context.Cause(ctx)
	}
	if first.err != nil {
		m.Close()
		return nil, first.err
	}
	return m, nil
}

// Close ends the bridge and waits for all goroutines of the machine.
func (m *Machine) Close() {
	m.mu.Lock()
	m.end() // no attempt begins any more
	m.mu.Unlock()
	m.all.Wait()
	if m.now != nil && m.now.link != nil {
		m.now.link.close()
		<-m.now.link.ended
	}
}

// attempt begins to start a bridge.
func (m *Machine) attempt(ask bool) *attempt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.attemptLocked(ask)
}

func (m *Machine) attemptLocked(ask bool) *attempt {
	a := &attempt{done: make(chan struct{})}
	m.now = a
	m.all.Go(func() {
		defer close(a.done)
		a.link, a.err = m.start(ask)
		m.learn(a.err)
	})
	return a
}

// start starts a bridge.
func (m *Machine) start(ask bool) (*link, error) {
	ctx := m.ctx
	if !ask {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, m.way.limits.filled().greets, errSilent)
		defer cancel()
	}
	l, err := start(ctx, &m.way, ask)
	if err != nil {
		return nil, m.way.because(err)
	}
	return l, nil
}

// learn decides when the next attempt may be made.
func (m *Machine) learn(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.failed = 0
		return
	}
	wait := min(firstWait<<min(m.failed, 5), longestWait)
	if errors.Is(err, fs.ErrPermission) {
		wait = deniedWait
	}
	m.failed++
	m.notWait = time.Now().Add(wait)
}

// reach returns a link, which is new if the last one is lost.
func (m *Machine) reach(ctx context.Context) (*link, error) {
	a := m.current()
	select {
	case <-a.done:
		return a.link, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (m *Machine) current() *attempt {
	m.mu.Lock()
	defer m.mu.Unlock()
	tooEarly := m.now.over() && m.now.err != nil && time.Now().Before(m.notWait)
	if !m.now.over() || m.now.up() || tooEarly || m.ctx.Err() != nil {
		return m.now
	}
	return m.attemptLocked(false)
}

// over reports whether the attempt has succeeded or failed.
func (a *attempt) over() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// up reports whether the attempt has a working link.
func (a *attempt) up() bool { return a.over() && a.err == nil && !a.link.lost() }

// up reports whether there is a link.
func (m *Machine) up() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now.up()
}

// Name is described at [attach.Far].
func (m *Machine) Name() string { return m.way.host }

// Discover is described at [attach.Far].
func (m *Machine) Discover(ctx context.Context) ([]attach.Process, error) {
	var rows []row
	if err := m.ask(ctx, listPath, &rows); err != nil {
		return nil, err
	}
	found := make([]attach.Process, len(rows))
	for i := range rows {
		found[i] = rows[i].from(m.way.host)
		if p := &found[i]; p.Info == nil && p.Problem == nil {
			p.Problem = m.malformed("it does not say how process " + strconv.Itoa(p.PID) + " is")
		}
	}
	return found, nil
}

// Locate is described at [attach.Far].
func (m *Machine) Locate(ctx context.Context, target string) (attach.Process, error) {
	var r row
	err := m.ask(ctx, locatePath+"?"+url.Values{"target": {target}}.Encode(), &r)
	return r.from(m.way.host), err
}

// Condition is described at [attach.Far]. It does not restore a lost link.
func (m *Machine) Condition(ctx context.Context, p attach.Process) (c attach.Condition, err error) {
	if !m.up() {
		return c, m.way.failure(errLost.Error(), "")
	}
	err = m.ask(ctx, conditionPath+"?"+of(p).Encode(), &c)
	return c, err
}

// Gauge reads the gauges of a process's devices on that machine.
func (m *Machine) Gauge(ctx context.Context, p attach.Process, devices []int) (seen []trace.Gauge, err error) {
	query := of(p)
	for _, device := range devices {
		query.Add("device", strconv.Itoa(device))
	}
	if !m.up() {
		return nil, m.way.failure(errLost.Error(), "")
	}
	err = m.ask(ctx, gaugesPath+"?"+query.Encode(), &seen)
	return seen, err
}

// Connect is described at [attach.Far].
func (m *Machine) Connect(ctx context.Context, p attach.Process) (net.Conn, error) {
	l, err := m.reach(ctx)
	if err != nil {
		return nil, err
	}
	conn, response, err := l.open(ctx, connectPath+"?"+of(p).Encode())
	if err != nil {
		return nil, m.lost(l, err)
	}
	if response.StatusCode != http.StatusOK {
		defer func() { _ = conn.Close() }() // the needed part has been read
		return nil, m.read(response, nil)
	}
	return conn, nil
}

// of makes the parameters that name a request's process.
func of(p attach.Process) url.Values {
	return url.Values{"pid": {strconv.Itoa(p.PID)}, "socket": {p.Socket}}
}

// ask sends the far end a request.
func (m *Machine) ask(ctx context.Context, path string, value any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, m.way.limits.filled().answers, m.way.failure(errSilent.Error(), ""))
	defer cancel()
	l, err := m.reach(ctx)
	if err != nil {
		return err
	}
	response, err := l.send(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return m.lost(l, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	return m.read(response, value)
}

// read reads an answer, or the error in its place.
func (m *Machine) read(response *http.Response, value any) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return m.way.failure(errLost.Error(), "")
	case len(text) > maxAnswer:
		return m.malformed(fmt.Sprintf("it is longer than %d bytes", maxAnswer))
	}
	if response.StatusCode != http.StatusOK {
		var carried attach.Carried
		if json.Unmarshal(text, &carried) != nil {
			return m.malformed("it answers " + strconv.Itoa(response.StatusCode))
		}
		return carried.From(m.way.host)
	}
	if json.Unmarshal(text, value) != nil {
		return m.malformed("it is not what was asked for")
	}
	return nil
}

func (m *Machine) malformed(reason string) error {
	return &attach.MalformedError{Who: "the bridge on " + m.way.host, What: "answer", Reason: reason}
}

// lost returns why a link was lost, as far as its command reported it.
func (m *Machine) lost(l *link, err error) error {
	if !errors.Is(err, errLost) {
		return err
	}
	l.close()
	<-l.ended
	return m.way.because(l.because(err))
}
