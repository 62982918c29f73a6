package sensor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/hostledger"
	"github.com/memtop/memtop/probe/protocol"
)

// Variable is the environment variable with which a program's agents find their host:
// the path of its socket.
const Variable = "MEMTOP_HOST"

// Environment returns an environment in which agents find a host.
func Environment(environ []string, host string) []string {
	others := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, Variable+"=") })
	return append(others, Variable+"="+host)
}

// Host serves the programs of a job whose agents come to it.
type Host struct {
	path     string
	listener *net.UnixListener
	log      *slog.Logger

	mu     sync.Mutex
	agents map[program]*agent
	asking []*net.UnixConn // of those that wait for the end
	links  sync.WaitGroup
	left   chan struct{} // has an item when an agent has gone
	unused chan struct{} // has an item when the host is to end unless an agent is here
}

// program identifies a process for good.
type program struct {
	pid   int
	start uint64
}

// Listen makes a host whose socket is in a folder, which it makes if need be.
func Listen(folder string, log *slog.Logger) (*Host, error) {
	if err := protocol.MakeFolder(folder, os.Geteuid()); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, strconv.Itoa(os.Getpid())+"-"+strconv.FormatInt(time.Now().UnixNano(), 36)+protocol.HostSuffix)
	l, err := probe.ListenAt(path)
	if err != nil {
		return nil, err
	}
	return &Host{path: path, listener: l, log: log, agents: make(map[program]*agent), left: make(chan struct{}, 1), unused: make(chan struct{}, 1)}, nil
}

// Path returns the path of the host's socket, the value of [Variable].
func (h *Host) Path() string { return h.path }

// Serve serves agents until ctx is done.
func (h *Host) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = h.listener.Close() })
	defer stop()
	for {
		conn, err := h.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil {
			h.log.Warn("agent not accepted", "error", err)
			time.Sleep(again) // too many files are open
			continue
		}
		h.links.Add(1)
		go func() {
			defer h.links.Done()
			if err := h.serve(ctx, conn); err != nil {
				h.log.Info("agent", "error", err)
			}
		}()
	}
	_ = os.Remove(h.path) // nobody else removes it
	h.close("memtop's host has ended")
	h.links.Wait()
	return nil
}

const again = 100 * time.Millisecond

// close ends all relays.
func (h *Host) close(reason string) {
	h.mu.Lock()
	all := make([]*agent, 0, len(h.agents))
	for _, a := range h.agents {
		all = append(all, a)
	}
	h.mu.Unlock()
	for _, a := range all {
		_ = a.relay.Close(reason)
		a.mu.Lock()
		if a.conn != nil {
			_ = a.conn.Close() // which ends its link
		}
		a.mu.Unlock()
	}
}

// serve serves an agent over one link.
func (h *Host) serve(ctx context.Context, conn *net.UnixConn) error {
	g, listener, err := greet(conn)
	if err == nil && g.Version == dismissal {
		h.dismiss(conn)
		return nil
	}
	defer conn.Close() // the agent notices
	if err != nil {
		return err
	}
	g.Who.Rank = g.rank()
	key := program{g.Who.PID, g.Who.Start}
	a, err := h.agent(key, g, listener)
	if err != nil {
		_ = say(conn, question{Do: "failed"})
		return err
	}
	a.use(conn)
	if size, _ := a.relay.Box(); size > 0 {
		a.tell(question{Do: "box"})
	}
	l := &link{conn: conn, agent: a}
	over := make(chan struct{})
	go func() {
		a.attend(over)
		_ = conn.SetReadDeadline(time.Now().Add(again)) // a forked child may have the agent's end too
	}()
	failed := l.follow()
	close(over)
	a.use(nil)
	switch {
	case l.ended != "":
		_ = a.relay.Close(l.ended)
		h.forget(key, a)
		_ = say(conn, question{Do: "ended"})
	case h.comesBack(ctx, a):
	default:
		h.forget(key, a)
	}
	return failed
}

// agent returns the agent of a program, with a relay if it is new here.
func (h *Host) agent(key program, g *greeting, listener *net.UnixListener) (*agent, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.agents[key]; known != nil {
		if listener != nil {
			_ = listener.Close() // its socket is there
		}
		return known, nil
	}
	if listener == nil {
		return nil, errors.New("an agent without a socket")
	}
	a := &agent{asks: make(map[int64]chan string), log: h.log.Info, ended: endOf(key.pid)}
	relay, err := probe.NewRelay(probe.Options{Log: h.log}, g.Who, g.Program, listener, a)
	if err != nil {
		_ = listener.Close() // nobody was accepted
		return nil, fmt.Errorf("process %d: %w", key.pid, err)
	}
	a.relay, a.ledger = relay, hostledger.New(key.pid, relay.Started())
	h.agents[key] = a
	return a, nil
}

// dismiss ends the host unless an agent is there. The connection then ends with the
// process, so that who asked knows.
func (h *Host) dismiss(conn *net.UnixConn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.agents) > 0 {
		_ = conn.Close() // nothing was sent on it
		return
	}
	h.asking = append(h.asking, conn)
	notify(h.unused)
}

func (h *Host) forget(key program, a *agent) {
	h.mu.Lock()
	if h.agents[key] == a {
		delete(h.agents, key)
	}
	h.mu.Unlock()
	notify(h.left)
}

// notify puts an item into a channel with room for one, unless it is full.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Dismiss ends the host at a path, unless an agent is there.
func Dismiss(path string) {
	name, release, err := protocol.Reach(path)
	if err != nil {
		return // it ends a little later by itself
	}
	defer release()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return
	}
	defer conn.Close() // the host has read what was sent
	_, _ = conn.Write(framed(&greeting{Version: dismissal}))
	_ = conn.SetReadDeadline(time.Now().Add(dismissWithin))
	_, _ = conn.Read(make([]byte, 1)) // until it has ended
}

// dismissal stands in the place of an agent's version. dismissWithin is how long a host
// may take to read it.
const (
	dismissal     = "dismiss"
	dismissWithin = time.Second
)

// comesBackWithin is how long a program may take to come back that has closed the
// agent's files and runs.
const comesBackWithin = 5 * time.Second

// comesBack waits for an agent that has lost its link, and reports whether it has
// another one. Otherwise its relay ends.
func (h *Host) comesBack(ctx context.Context, a *agent) bool {
	late := time.NewTimer(comesBackWithin)
	defer late.Stop()
	look := time.NewTicker(again)
	defer look.Stop()
	for {
		select {
		case <-a.ended:
			_ = a.relay.Close("")
			return false
		case <-ctx.Done():
			return false
		case <-late.C:
			_ = a.relay.Close("the agent has gone, the program goes on")
			return false
		case <-look.C:
			a.mu.Lock()
			back := a.conn != nil
			a.mu.Unlock()
			if back {
				return true
			}
		}
	}
}

// Until waits until the process `root` has ended, 0 for none, and no agent has been here
// for a while.
func (h *Host) Until(ctx context.Context, root int, patience time.Duration) {
	if root > 0 {
		select {
		case <-endOf(root):
		case <-ctx.Done():
			return
		}
	}
	idle := time.NewTimer(patience)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.left:
			patience = linger
			idle.Reset(patience)
		case <-h.unused:
			idle.Reset(0)
		case <-idle.C:
			h.mu.Lock()
			n := len(h.agents)
			h.mu.Unlock()
			if n == 0 {
				return
			}
			idle.Reset(patience)
		}
	}
}

// linger is how long a host stays after its last program: the next may come.
const linger = 2 * time.Second
