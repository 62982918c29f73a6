package pytorch

import "github.com/memtop/memtop/snapshots/trace"

// replayer replays the lifetimes of the machine's events in its own goroutine. A
// replay mostly waits for memory, so it takes little time from the workers.
type replayer struct {
	life   *trace.Lifetimes
	news   chan trace.Events // the log as it is by now
	done   chan struct{}     // closed at the end
	failed any               // what it panicked with
	told   int               // events that it has been told of
	step   int               // how many must be new to be worth telling
}

// replayStep is how many events the machine passes to a replayer at once.
const replayStep = 1 << 16

func newReplayer(step int) *replayer {
	r := &replayer{step: step, life: trace.NewLifetimes(), news: make(chan trace.Events, 1), done: make(chan struct{})}
	go r.work()
	return r
}

func (r *replayer) work() {
	defer close(r.done)
	defer func() { r.failed = recover() }() // the machine's goroutine is to have it
	for events := range r.news {
		r.life.Advance(events)
	}
}

// tell passes the current events of the log to the replayer, if there are enough
// new ones and the replayer has taken the last ones.
func (r *replayer) tell(log *trace.EventLog) {
	if r == nil || log.Len()-r.told < r.step {
		return
	}
	select {
	case r.news <- log.Events():
		r.told = log.Len()
	default:
	}
}

// stop ends the replaying and waits for it. It may be called again.
func (r *replayer) stop() {
	if r.news != nil {
		close(r.news)
		<-r.done
		r.news = nil
	}
}

// release gives the memory of the input back, and ends all goroutines beside the
// machine. The machine must not be used after it.
func (m *machine) release() {
	if m.replay != nil {
		m.replay.stop()
	}
	m.window.release()
}

// replayed gives a device the lifetimes of its events, if all events of the file
// are of that device.
func (m *machine) replayed(devices []trace.Device) {
	if m.replay == nil {
		return
	}
	m.replay.stop()
	if m.replay.failed != nil {
		panic(m.replay.failed)
	}
	for i := range devices {
		if d := &devices[i]; d.Events.Same(m.log.Events()) {
			m.replay.life.Advance(d.Events)
			d.Replay = trace.NewReplay(m.replay.life)
		}
	}
}
