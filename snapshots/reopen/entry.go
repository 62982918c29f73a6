package reopen

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// device is what an entry says of a device in numbers.
type device struct {
	ID, First, MaxEvents int64
	Overflowed           int64
	Request              int64 // of its lifetimes
	Begun                int64
	Level                [7]int64
}

// writeTrace writes the sections of a trace and of the indexes of its devices.
func writeTrace(w *writer, t *trace.Trace, index func(id int) *analysis.Index) error {
	var p packer
	p.info(&t.Info)
	p.settings(t.Settings)
	p.texts(t.Notices)
	p.number(int64(len(t.Devices)))
	section(w, p.b)
	section(w, t.Annotations)
	if err := writeTables(w, t.Tables); err != nil {
		return err
	}
	for i := range t.Devices {
		if w.err != nil {
			return w.err
		}
		d := &t.Devices[i]
		writeDevice(w, d, index(d.ID))
	}
	return w.err
}

func writeTables(w *writer, t *trace.Tables) error {
	flat, err := t.Flat()
	if err != nil {
		return err
	}
	var text []byte
	ends := make([]int64, len(t.Strings))
	for i, s := range t.Strings {
		text = append(text, s...)
		ends[i] = int64(len(text))
	}
	section(w, text)
	section(w, ends)
	section(w, t.Frames)
	section(w, t.FX)
	section(w, t.Notes)
	section(w, t.Streams)
	section(w, t.Pools)
	section(w, flat.StackEnds)
	section(w, flat.Stacks)
	section(w, flat.ListEnds)
	section(w, flat.Lists)
	section(w, flat.FXFrames)
	section(w, flat.FXNumbers)
	return nil
}

func writeDevice(w *writer, d *trace.Device, x *analysis.Index) {
	life, index := x.Lifetimes().Flat(), x.Flat()
	section(w, []device{{
		ID: int64(d.ID), First: d.First, MaxEvents: d.MaxEvents, Overflowed: int64(number(d.Overflowed)),
		Request: int64(life.Request), Begun: int64(number(life.Begun)), Level: index.Level,
	}})
	var spans [][]trace.Event
	for i := 0; i < d.Events.Len(); i += len(spans[len(spans)-1]) {
		spans = append(spans, d.Events.Span(i))
	}
	section(w, spans...)
	section(w, life.Peers...)
	writeState(w, &d.Final)
	section(w, flatHeld(life.Held))
	section(w, life.MarkAt)
	section(w, life.MarkEnds)
	section(w, life.MarkAlive)
	section(w, life.AskedAddr)
	section(w, life.AskedEvent)
	for _, list := range [][]trace.Pair{life.Pending, life.Retags, life.Displaced, life.Lost} {
		section(w, list)
	}
	section(w, index.Kinds[:])
	section(w, index.OtherNotes)
	section(w, index.OtherCounts)
	section(w, index.Seen)
	for _, list := range [][]int32{index.SegmentEvents, index.OOMs, index.ProgramEvents} {
		section(w, list)
	}
	for _, list := range [][]int64{index.Requested, index.Reserved, index.High, index.Low, index.Biggest} {
		section(w, list)
	}
}

// flatDevice is a device as it lies in an entry.
type flatDevice struct {
	device
	section int // that of its events
	end     int // the section after its last
	events  []trace.Event
	peers   []int32
	final   flatState
	held    []held
	life    trace.FlatLifetimes
	kinds   []int64
	index   analysis.Flat
}

func nextDevice(r *reader) *flatDevice {
	d := &flatDevice{device: one[device](r), section: r.at}
	d.events, d.peers = next[trace.Event](r), next[int32](r)
	d.final = nextState(r)
	d.held = next[held](r)
	l, x := &d.life, &d.index
	l.Request, l.Begun = int32(d.Request), d.Begun != 0
	l.MarkAt, l.MarkEnds, l.MarkAlive = next[int32](r), next[uint32](r), next[trace.AllocationID](r)
	l.AskedAddr, l.AskedEvent = next[uint64](r), next[int32](r)
	for _, list := range []*[]trace.Pair{&l.Pending, &l.Retags, &l.Displaced, &l.Lost} {
		*list = next[trace.Pair](r)
	}
	d.kinds = next[int64](r)
	x.OtherNotes, x.OtherCounts = next[trace.NoteID](r), next[int64](r)
	x.Seen = next[uint8](r)
	for _, list := range []*[]int32{&x.SegmentEvents, &x.OOMs, &x.ProgramEvents} {
		*list = next[int32](r)
	}
	for _, list := range []*[]int64{&x.Requested, &x.Reserved, &x.High, &x.Low, &x.Biggest} {
		*list = next[int64](r)
	}
	x.Level = d.Level
	d.end = r.at
	return d
}

// opened is what an entry holds.
type opened struct {
	trace   *trace.Trace
	indexes map[int]*analysis.Index
}

// readTrace reads what writeTrace wrote. All that is not events is checked first, and
// then those, by all processors, while the states are made.
func readTrace(r *reader) (*opened, error) {
	start := r.at
	small := next[byte](r)
	t := &trace.Trace{Annotations: next[trace.Annotation](r)}
	raw := nextTables(r)
	if r.err != nil {
		return nil, r.err
	}
	if err := r.checkSections(start, r.at); err != nil {
		return nil, err
	}
	u := unpacker{b: small}
	t.Info, t.Settings, t.Notices = u.info(), u.settings(0), u.texts()
	count := u.number()
	if u.bad || len(u.b) > 0 || count < 0 || count > int64(len(r.spans)) {
		return nil, damaged("what it says of its file")
	}
	tables, err := raw.tables()
	if err != nil {
		return nil, err
	}
	t.Tables = tables
	for i := range t.Annotations {
		if a := &t.Annotations[i]; int(a.Name) >= len(tables.Strings) || int(a.Stage) >= len(tables.Strings) {
			return nil, damaged("annotation %d", i)
		}
	}
	o := &opened{trace: t, indexes: make(map[int]*analysis.Index)}
	return o, o.readDevices(r, int(count))
}

func (o *opened) readDevices(r *reader, count int) error {
	flat := make([]*flatDevice, count)
	for i := range flat {
		flat[i] = nextDevice(r)
		if r.err != nil {
			return r.err
		}
		if i > 0 && flat[i].ID <= flat[i-1].ID {
			return damaged("its devices are out of order")
		}
	}
	if r.at != len(r.spans) {
		return damaged("it has %d sections more", len(r.spans)-r.at)
	}
	o.trace.Devices = make([]trace.Device, count)
	for i, d := range flat {
		if err := o.readDevice(r, d, &o.trace.Devices[i]); err != nil {
			return err
		}
	}
	return nil
}

func (o *opened) readDevice(r *reader, flat *flatDevice, d *trace.Device) error {
	if err := cmp.Or(r.checkSections(flat.section-1, flat.section), r.checkSections(flat.section+1, flat.end)); err != nil {
		return err
	}
	if len(flat.events) > trace.MaxEvents || len(flat.kinds) != trace.KindCount {
		return damaged("device %d", flat.ID)
	}
	flat.index.Kinds = [trace.KindCount]int64(flat.kinds)
	*d = trace.Device{
		ID: int(flat.ID), First: flat.First, MaxEvents: flat.MaxEvents, Overflowed: flat.Overflowed != 0,
		Events: trace.EventsOf(flat.events),
	}
	var err error
	if flat.life.Held, err = heldOf(flat.held); err != nil {
		return err
	}
	life, err := trace.LifetimesOf(d.Events, flat.life, flat.peers)
	if err != nil {
		return err
	}
	tables := o.trace.Tables
	tasks := []func() error{ // the longest first
		func() (err error) {
			if d.Final, err = flat.final.state(); err != nil {
				return err
			}
			return tables.CheckState(&d.Final)
		},
		func() (err error) {
			o.indexes[d.ID], err = analysis.IndexOf(o.trace, d, life, flat.index)
			return err
		},
		func() error { return life.CheckHeld(tables) },
		life.CheckMarks,
	}
	for k := range int(pieces(int64(len(bytesOf(flat.events))))) {
		tasks = append(tasks, func() error {
			if err := r.checkPiece(flat.section, k); err != nil {
				return err
			}
			return life.CheckChunk(k, tables, flat.peers) // while it is still near the processor
		})
	}
	return parallel(len(tasks), func(k int) error { return tasks[k]() })
}

// checkSections compares the checksums of sections from on, to not included.
func (r *reader) checkSections(from, to int) error {
	type place struct{ section, piece int }
	var all []place
	for s := from; s < to; s++ {
		for piece := range pieces(r.spans[s].Bytes) {
			all = append(all, place{s, int(piece)})
		}
	}
	return parallel(len(all), func(k int) error { return r.checkPiece(all[k].section, all[k].piece) })
}

// parallel does n things on all processors and returns the first error. What lies in a
// mapped file may be gone, because the file was cut short: that is an error, too.
func parallel(n int, do func(k int) error) error {
	var failed atomic.Pointer[error]
	var done atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for failed.Load() == nil {
				k := int(done.Add(1)) - 1
				if k >= n {
					return
				}
				if err := guarded(func() error { return do(k) }); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wait.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// guarded turns a fault of memory into an error.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			fault, ok := r.(interface {
				runtime.Error
				Addr() uintptr
			})
			if !ok {
				panic(r)
			}
			err = damaged("%v", fault)
		}
	}()
	return do()
}
