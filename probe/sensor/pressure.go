package sensor

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// pressure says when the last look at what holds a program's memory is out of date,
// while nobody watches: memory has grown, or is about to run out. It is judged outside
// of the program, which pays nothing for it.
type pressure struct {
	looked time.Time     // when memory was last looked at, for whatever reason
	cost   time.Duration // of that look, to the program
	held   int64         // what the program held then, in bytes; 0 if that is not known yet
	grown  int           // looks so far because memory has grown
	short  int           // and because little was left
	left   int64         // when it was last measured
	at     time.Time     // of that
	least  int64         // what was left at the last look because little was left, 0 before the first
	close  bool          // little memory is left: it is measured more often
}

const (
	// Since the last look, memory has grown by a quarter and by so many bytes.
	grownBy, grownLeast = 1.25, 64 << 20
	// lookShare is which part of the time since the last look a look may cost that is made
	// because memory has grown.
	lookShare = 0.02
	// With less of all memory left than that, it is measured more often, and looked at.
	closeShare, nearShare = 0.2, 0.1
	// Memory that would run out within this time is as good as near its end.
	outWithin = 5 * time.Second
	// further is which part of what was left at a look is left at the next.
	further = 0.9
	// mostLooks bounds the looks for either reason.
	mostLooks = 24
)

// seen notes a look, whatever its reason.
func (p *pressure) seen(now time.Time, cost time.Duration, held int64) {
	p.looked, p.cost, p.held = now, cost, held
}

// grows reports whether to look because the program holds so many bytes.
func (p *pressure) grows(now time.Time, held int64) bool {
	if p.held == 0 {
		p.held = held
		return false
	}
	enough := held >= max(int64(grownBy*float64(p.held)), p.held+grownLeast)
	if !enough || p.grown == mostLooks || float64(p.cost) > lookShare*float64(now.Sub(p.looked)) {
		return false
	}
	p.grown, p.held, p.looked = p.grown+1, held, now // the look is on its way
	return true
}

// runsOut reports whether to look because so much of the machine's memory is left, or
// because what is left shrinks so fast.
func (p *pressure) runsOut(now time.Time, left, total int64) bool {
	gone, took := p.left-left, now.Sub(p.at)
	soon := !p.at.IsZero() && gone > 0 && float64(left)*took.Seconds() < float64(gone)*outWithin.Seconds()
	p.left, p.at = left, now
	p.close = soon || float64(left) < closeShare*float64(total)
	near := soon || float64(left) < nearShare*float64(total)
	if !near || p.least > 0 && float64(left) >= further*float64(p.least) || p.short == mostLooks {
		return false
	}
	p.least, p.short = left, p.short+1
	return true
}

// How often the machine's memory is measured while nobody watches: usually, and while
// little is left.
const measureEvery, measureClose = 500 * time.Millisecond, 100 * time.Millisecond

// attend measures the memory of the agent's program while nobody watches, until it has
// ended or the link is over.
func (a *agent) attend(over <-chan struct{}) {
	next := time.NewTimer(measureEvery)
	defer next.Stop()
	for {
		select {
		case <-a.ended:
			return
		case <-over:
			return
		case <-next.C:
			next.Reset(a.measure(time.Now()))
		}
	}
}

// measure adds what the kernel says of the machine now to what the agent said of it last,
// and asks for a look if memory presses. It returns when to measure again.
func (a *agent) measure(now time.Time) time.Duration {
	a.adding.Lock()
	defer a.adding.Unlock()
	if a.machine == nil || a.viewed() {
		return measureEvery
	}
	if size, _ := a.relay.Box(); size == 0 {
		return measureEvery
	}
	var sent []gauge
	_ = json.Unmarshal(a.machine, &sent) // it was read before
	all := a.measured(slices.DeleteFunc(sent, func(g gauge) bool { return !g.ofMachine() }))
	if len(all) == 0 {
		return measureEvery
	}
	all[0].Host.Step = max(all[0].Host.Step, stepAt(a.last, all[0].Time))
	a.relay.Gauges(all, len(a.machine))
	limit, _ := all[0].Nearest()
	out := a.pressure.runsOut(now, limit.Left(), limit.Bytes)
	if a.onHost {
		a.holds(now, all[0].Process, out)
	}
	if a.pressure.close {
		return measureClose
	}
	return measureEvery
}

// stepAt returns the number of the step that a program has made by a time in microseconds
// if it goes on as fast as it made the last one that it told: it tells one a second.
func stepAt(last *trace.Step, time int64) int64 {
	if last == nil || last.Duration <= 0 {
		return 0
	}
	const told = 1_000_000
	return last.Number + 1000*min(max(0, time-last.Time), told)/last.Duration
}

// step takes in a step. Of a program on a device, that device's memory presses.
func (a *agent) step(text []byte) error {
	s, err := a.relay.Step(text)
	if err != nil {
		return err
	}
	a.last = s
	if a.machine != nil && !a.onHost {
		a.holds(time.Now(), s.Allocated, false)
	}
	return nil
}

// holds notes what the program holds, and asks for a look if that has grown, or if
// memory runs out.
func (a *agent) holds(now time.Time, held int64, out bool) {
	a.held = held
	if !a.viewed() && (out || a.pressure.grows(now, held)) {
		a.tell(question{Do: "look"})
	}
}

// looked notes that the agent has looked, at such a cost.
func (a *agent) looked(cost time.Duration) {
	a.pressure.seen(time.Now(), cost, a.held)
	a.relay.Looked()
}
