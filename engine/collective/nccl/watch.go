package nccl

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/memtop/memtop/engine/collective"
)

// watch looks after the other processes.
type watch struct {
	peers     peers
	stop      chan struct{}
	ended     chan struct{}
	since     time.Time // when a process had ended or was reported to have
	suspicion error     // what was reported first
}

// How often it is looked, how long a process that has ended may have been one
// that left after all had met to leave, and how long to search for the ended
// process when NCCL reports that one has ended.
const (
	watchInterval = 100 * time.Millisecond
	leaveTime     = 5 * time.Second
	nameTime      = time.Second
)

// startWatch has all processes know each other, and begins.
func (g *group) startWatch() error {
	all := make([]byte, identityBytes*g.size)
	own := all[identityBytes*g.rank:][:identityBytes]
	copy(own, identity())
	if err := (staged{g}).AllGather(bytesArray(all), bytesArray(own)).Wait(); err != nil {
		return err
	}
	w := &g.watch
	w.peers.open(all, g.rank)
	w.stop, w.ended = make(chan struct{}), make(chan struct{})
	bound := make(chan error, 1)
	go func() {
		defer close(w.ended)
		defer w.peers.close()
		err := g.device.Bind(func() error {
			bound <- nil // before an operation is under way: the watch needs nothing more of the device
			g.look()
			return nil
		})
		bound <- err
	}()
	return <-bound
}

// end ends the watch.
func (w *watch) end() {
	close(w.stop)
	<-w.ended
}

// look looks until the watch ends or a process is lost.
func (g *group) look() {
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	for {
		select {
		case <-g.watch.stop:
			return
		case <-ticks.C:
		}
		if err := g.missing(); err != nil {
			g.abort(err)
			return
		}
	}
}

// missing returns why the group cannot go on, nil while nothing is known.
func (g *group) missing() error {
	w := &g.watch
	rank, pid, ended := w.peers.ended()
	if w.suspicion == nil {
		w.suspicion = g.reported()
	}
	if w.suspicion == nil && !ended {
		return nil
	}
	if w.since.IsZero() {
		w.since = time.Now()
	}
	waited := time.Since(w.since)
	switch {
	case ended && (!g.leaving.Load() || waited > leaveTime):
		return &collective.LostError{Rank: rank, PID: pid}
	case w.suspicion != nil && waited > nameTime:
		return w.suspicion
	}
	return nil
}

// reported asks NCCL.
func (g *group) reported() error {
	late := &g.written.late
	err := g.try(CommGetAsyncError, g.written.comm, uintptr(unsafe.Pointer(late)))
	if err != nil || *late == Success || *late == InProgress {
		return err
	}
	err = failure(g.library, "NCCL", *late)
	if *late == RemoteError {
		err = fmt.Errorf("a rank has ended or cannot be reached: %w", err)
	}
	return err
}

// abort ends what the device waits for. Before that the device is failed, so that
// who waits for it learns why it has come to an end. A call that is under way is left
// some time to return; the library has abort end one that does not.
func (g *group) abort(err error) {
	g.device.Fail(err)
	close(g.lost)
	select {
	case g.calls <- struct{}{}:
	case <-time.After(nameTime):
	}
	g.library.Call(CommAbort, g.written.comm) // the group has failed already
}
