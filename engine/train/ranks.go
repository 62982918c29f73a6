package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"unsafe"

	"memtop/engine/device"
	"memtop/engine/tensor"
	"memtop/snapshots/trace"
)

// Rank is one of the processes that train together, as it was after a step.
type Rank struct {
	Rank, PID     int
	PeakAllocated int64 // bytes
	// AtPeak is what was requested, by category, when allocated memory was highest.
	AtPeak [trace.CategoryCount]int64
}

// What a process says of itself, in numbers: its pid, its peak, whether its settings
// were changed, whether it is to end, and the categories. Float64 holds every number
// of bytes that there can be.
const (
	pidWord = iota
	peakWord
	changedWord
	endsWord
	categoryWords
	rankWords = categoryWords + trace.CategoryCount
)

// gather returns what every process says of itself at a step's end; all must call it.
func (t *Trainer) gather(m *Memory) []Rank {
	p := t.parallel
	if p == nil {
		return nil
	}
	size, rank := p.group.Size(), p.group.Rank()
	own := p.rows[rank*rankWords:][:rankWords]
	clear(own)
	t.describe(own, m)
	tensor.Fail(p.group.Host().AllGather(words(p.rows), words(own)).Wait(), "gathering the memory of ranks")
	list := make([]Rank, size)
	p.changed, p.ends = nobody, false
	for i := size - 1; i >= 0; i-- {
		row := p.rows[i*rankWords:]
		list[i] = Rank{Rank: i, PID: int(row[pidWord]), PeakAllocated: int64(row[peakWord])}
		for c := range list[i].AtPeak {
			list[i].AtPeak[c] = int64(row[categoryWords+c])
		}
		if row[changedWord] != 0 {
			p.changed = i // the lowest rank is the one that is followed
		}
		p.ends = p.ends || row[endsWord] != 0
	}
	return list
}

// describe fills in what this process says.
func (t *Trainer) describe(row []float64, m *Memory) {
	row[pidWord], row[peakWord] = float64(os.Getpid()), float64(m.PeakAllocated)
	if len(changes(t.parallel.agreed, t.settings.Load())) > 0 {
		row[changedWord] = 1
	}
	if t.config.Ends != nil && t.config.Ends() {
		row[endsWord] = 1
	}
	for i, n := range m.AtPeak {
		row[categoryWords+i] = float64(n)
	}
}

// Ends reports whether a process of the group was to end when the last step did. All
// processes hear of it after the same step, so that none waits for one that has gone.
func (t *Trainer) Ends() bool { return t.parallel != nil && t.parallel.ends }

// nobody is no rank.
const nobody = -1

// settingsBytes is the most that all settings take as text.
const settingsBytes = 8 << 10

// agree returns the settings of the step that begins. Several processes use those of the
// one where they were changed, from the same step on: the one after the step in which
// all have heard of it.
func (t *Trainer) agree() (*Settings, error) {
	p := t.parallel
	if p == nil {
		return t.settings.Load(), nil
	}
	now := t.settings.Load()
	if p.agreed == nil || len(changes(p.agreed, now)) == 0 {
		p.agreed = now // all began with the same; a plan may have been made anew
	}
	if p.changed != nobody {
		if err := t.follow(); err != nil {
			return nil, err
		}
	}
	return p.agreed, nil
}

// follow takes over the settings of the rank where they were changed.
func (t *Trainer) follow() error {
	p := t.parallel
	clear(p.text)
	now := t.settings.Load()
	if p.group.Rank() == p.changed {
		encoded, err := json.Marshal(now.Values())
		if err != nil || len(encoded) > len(p.text) {
			return fmt.Errorf("the settings take %d bytes: %w", len(encoded), err)
		}
		copy(p.text, encoded)
	}
	a := device.Array{Addr: uint64(uintptr(unsafe.Pointer(&p.text[0]))), Len: len(p.text), DType: device.UInt8}
	if err := p.group.Host().Broadcast(a, p.changed).Wait(); err != nil {
		return err
	}
	if p.group.Rank() != p.changed {
		s, err := decodeSettings(*now, p.text)
		if err == nil {
			err = t.Set(s)
		}
		if err != nil {
			return fmt.Errorf("the settings of rank %d: %w", p.changed, err)
		}
		now = t.settings.Load()
	}
	p.agreed, p.changed = now, nobody
	return nil
}

// decodeSettings returns s with the settings of a text, which ends with zeros.
func decodeSettings(s Settings, text []byte) (Settings, error) {
	var values map[string]string
	if err := json.Unmarshal(bytes.TrimRight(text, "\x00"), &values); err != nil {
		return s, err
	}
	s.MicroBatch, s.Accumulate = 0, 0
	return s.withAll(values)
}

// words returns memory of this process as an array.
func words(a []float64) device.Array {
	return device.Array{Addr: uint64(uintptr(unsafe.Pointer(&a[0]))), Len: len(a), DType: device.Float64}
}

// world is how many processes train together.
func (t *Trainer) world() int {
	if t.parallel == nil {
		return 1
	}
	return t.parallel.group.Size()
}
