package sensor

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/hostledger"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/launcher"
	"github.com/memtop/memtop/snapshots/trace"
)

// messageMost bounds one message of an agent: a snapshot has 64 MiB at most.
const messageMost = 96 << 20

// greetWithin is how long an agent may take to say who it is.
const greetWithin = 10 * time.Second

// link is a connection to an agent. Its goroutine reads it.
type link struct {
	conn  *net.UnixConn
	agent *agent
	ended string // the reason that the agent gave for its end
}

// greeting is an agent's first message.
type greeting struct {
	Version     string            `json:"version"`
	Who         probe.Identity    `json:"who"`
	Environment map[string]string `json:"environment"` // what launchers have set
	Program     probe.Program     `json:"program"`
}

// greet reads who an agent is, and the socket on which its program listens: nil if the
// agent has been here before.
func greet(conn *net.UnixConn) (*greeting, *net.UnixListener, error) {
	_ = conn.SetReadDeadline(time.Now().Add(greetWithin))
	defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	head, files := make([]byte, 4), make([]byte, rightsBytes)
	n, filled, _, _, err := conn.ReadMsgUnix(head, files)
	if err != nil {
		return nil, nil, err
	}
	listener, err := listenerIn(files[:filled])
	if err != nil {
		return nil, nil, err
	}
	g := &greeting{}
	text, err := readRest(conn, head, n)
	if err == nil {
		err = json.Unmarshal(text, g)
	}
	if err == nil && g.Version != dismissal {
		err = check(conn, &g.Who)
	}
	if err != nil && listener != nil {
		_ = listener.Close() // nobody was accepted
	}
	return g, listener, err
}

// check compares what an agent says of itself with what the kernel says of it.
func check(conn *net.UnixConn, who *probe.Identity) error {
	peer, err := protocol.PeerOf(conn)
	switch {
	case err != nil:
		return err
	case peer.UID != os.Geteuid():
		return fmt.Errorf("an agent of user %d, not of %d", peer.UID, os.Geteuid())
	case peer.PID != who.PID:
		return fmt.Errorf("an agent that says it is in process %d is in %d", who.PID, peer.PID)
	}
	who.UID = peer.UID
	return nil
}

// rank returns the program's place among those of its launcher, nil if it is alone or its
// variables make no sense.
func (g *greeting) rank() *trace.Rank {
	place, many, err := launcher.Launched(func(name string) string { return g.Environment[name] })
	rank := &trace.Rank{Job: place.Job, Rank: place.Rank, World: place.World, Local: place.Local, Launcher: place.Launcher}
	if err != nil || !many || !rank.Valid() {
		return nil
	}
	return rank
}

// readRest reads the rest of a message whose first n bytes are in head.
func readRest(r io.Reader, head []byte, n int) ([]byte, error) {
	if _, err := io.ReadFull(r, head[n:]); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(head)
	if length > messageMost {
		return nil, fmt.Errorf("a message of the agent has %d bytes, more than %d", length, messageMost)
	}
	var text bytes.Buffer // which takes memory for them only as they come
	_, err := io.CopyN(&text, r, int64(length))
	return text.Bytes(), err
}

// follow handles the agent's messages until the link ends.
func (l *link) follow() error {
	head := make([]byte, 4)
	for l.ended == "" {
		text, err := readRest(l.conn, head, 0)
		if err == nil {
			err = l.message(text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// agent is an agent as its relay sees it, over the links that it has had.
type agent struct {
	relay  *probe.Relay
	ledger *hostledger.Ledger
	ended  <-chan struct{} // closed when its program has ended
	log    func(string, ...any)

	adding   sync.Mutex // one goroutine at a time adds to the relay, and reads these
	pressure pressure
	last     *trace.Step // nil before the first
	held     int64       // bytes that the program holds: of the machine's memory, or of its device's
	machine  []byte      // the last gauges that the agent sent of the machine, as they came
	onHost   bool        // the program computes on the processor: its memory is the machine's

	mu    sync.Mutex
	conn  *net.UnixConn // nil while there is no link
	watch question      // the last one about viewers
	// asking says that it is to describe its program, and has not yet: a program that is
	// stopped must not get more questions than its link takes.
	asking bool
	asks   map[int64]chan string // get why the agent refuses, "" if it does not
	number int64                 // of the last question
}

// question is what an agent is asked or told.
type question struct {
	ID      int64  `json:"id,omitempty"`
	Do      string `json:"do"`
	Viewers int    `json:"viewers,omitempty"`
	Turn    int64  `json:"turn,omitempty"`
	Key     string `json:"key,omitempty"`
	Value   string `json:"value,omitempty"`
	At      int64  `json:"at,omitempty"`
}

var errGone = errors.New("the agent is not there")

// use makes the agent answer over a connection, nil for none.
func (a *agent) use(conn *net.UnixConn) {
	a.mu.Lock()
	a.conn, a.asking = conn, false
	watch := a.watch
	if conn == nil {
		for id, c := range a.asks {
			close(c)
			delete(a.asks, id)
		}
	}
	a.mu.Unlock()
	if conn != nil && watch.Viewers > 0 {
		a.tell(watch)
	}
}

// viewed reports whether the program has viewers.
func (a *agent) viewed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.watch.Viewers > 0
}

// Watch implements [probe.Agent].
func (a *agent) Watch(viewers int, turn int64) {
	q := question{Do: "watch", Viewers: viewers, Turn: turn}
	a.mu.Lock()
	a.watch = q
	a.mu.Unlock()
	a.tell(q)
}

// Ask implements [probe.Agent].
func (a *agent) Ask() {
	a.mu.Lock()
	asking := a.asking
	a.asking = a.conn != nil
	a.mu.Unlock()
	if !asking {
		a.tell(question{Do: "describe"})
	}
}

// describe takes in how it describes its program.
func (a *agent) describe(text []byte) error {
	a.mu.Lock()
	a.asking = false
	a.mu.Unlock()
	d := description{}
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	d.Program.Gauges = a.measured(d.Gauges)
	return a.relay.Describe(d.Program)
}

// Set implements [probe.Agent].
func (a *agent) Set(ctx context.Context, key, value string, at int64) error {
	c, q := make(chan string, 1), question{Do: "change", Key: key, Value: value, At: at}
	a.mu.Lock()
	a.number++
	q.ID = a.number
	a.asks[q.ID] = c
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.asks, q.ID)
		a.mu.Unlock()
	}()
	a.tell(q)
	select {
	case refused, ok := <-c:
		if !ok {
			return errGone
		}
		if refused != "" {
			return errors.New(refused)
		}
		return nil
	case <-ctx.Done():
		return errors.New("the program did not answer: it may be within a long call")
	}
}

func (a *agent) answered(id int64, refused string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, ok := a.asks[id]; ok {
		c <- refused
		delete(a.asks, id)
	}
}

// framed returns a value in JSON, with its length.
func framed(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("sensor: " + err.Error()) // they are numbers and texts
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// tellWithin is how long a question may wait for room in the link: an agent reads it as
// soon as its thread runs.
const tellWithin = 2 * time.Second

// say sends a question over a link.
func say(conn *net.UnixConn, q question) error {
	_ = conn.SetWriteDeadline(time.Now().Add(tellWithin))
	_, err := conn.Write(framed(q))
	return err
}

// tell sends a question. Its answer, if any, comes as a message.
func (a *agent) tell(q question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn == nil {
		if c, ok := a.asks[q.ID]; ok {
			close(c)
			delete(a.asks, q.ID)
		}
		return
	}
	if err := say(a.conn, q); err != nil && !errors.Is(err, syscall.EPIPE) {
		a.log("agent not asked", "error", err)
		_ = a.conn.Close() // half a question may have been sent
	}
}
