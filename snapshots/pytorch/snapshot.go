package pytorch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// contents is the top level of a snapshot, and the keys that its records have.
type contents struct {
	segments, traces, settings, annotations value
	hostSegments, hostTraces                value
	overflowed, maxEntries                  value
	found                                   uint64 // top-level keys
	entryKeys, blockKeys, segmentKeys       uint64
	list                                    bool // a bare list of segments
	truncatedAt                             int64
	claimed                                 int // entries that are in a trace
}

// maxDevices bounds how many devices a snapshot may list.
const maxDevices = 1024

// contents makes the top-level dict.
func (m *machine) contents(f *fields) value {
	c := &m.snapshot
	c.found = f.have
	get := func(k name) value {
		if !f.has(k) {
			return value{}
		}
		return m.resolve(f.value[k])
	}
	c.segments = get(nameSegments)
	c.traces = get(nameDeviceTraces)
	c.settings = get(nameAllocatorSettings)
	c.annotations = get(nameExternalAnnotations)
	c.hostSegments = get(nameHostSegments)
	c.hostTraces = get(nameHostTraces)
	c.overflowed = get(nameOverflowed)
	c.maxEntries = get(nameMaxEntries)
	return value{tag: tagSnapshot}
}

// finish makes the trace. The top of the stack is the pickle's value.
func (m *machine) finish() (*trace.Trace, error) {
	if err := m.top(); err != nil {
		return nil, err
	}
	c := &m.snapshot
	t := &trace.Trace{}
	devices, err := m.devices(m.listed(c.segments, tagSegment))
	if err != nil {
		return nil, err
	}
	if t.Pinned, err = m.pinned(); err != nil {
		return nil, err
	}
	t.Devices = devices
	t.Settings = m.settings(c.settings)
	if c.found&(1<<nameExternalAnnotations) != 0 {
		t.Annotations = make([]trace.Annotation, 0, len(m.annotations))
		for _, id := range m.listed(c.annotations, tagAnnotation) {
			t.Annotations = append(t.Annotations, m.annotations[id])
		}
	}
	tables := m.in.View()
	t.Tables = &tables
	m.markOverflow(t)
	t.Info = trace.Info{
		Kind: "snapshot", PickleProtocol: m.protocol, Bytes: m.offset(), List: c.list,
		NoTraces: c.found&(1<<nameDeviceTraces) == 0, TraceLists: m.lists.at(c.traces.listID()).len(),
		Truncated: c.truncatedAt > 0, Writer: m.writer(),
	}
	t.Notices = m.notices()
	return t, nil
}

// listID returns the number of a list, 0 (an empty one) for anything else.
func (v value) listID() uint32 {
	if v.tag == tagList {
		return v.id
	}
	return 0
}

// top checks that the pickle's value is a snapshot.
func (m *machine) top() error {
	if len(m.stack) == 0 {
		return m.corrupt("the pickle is empty")
	}
	v, err := m.close(m.stack[len(m.stack)-1])
	if err != nil {
		return err
	}
	switch {
	case v.tag == tagSnapshot:
		return nil
	case v.tag == tagList && (m.lists.at(v.id).len() == 0 || m.lists.at(v.id).at(0).tag == tagSegment):
		m.snapshot.list = true
		m.snapshot.segments = v
		return nil
	default:
		return m.corrupt("this is not a memory snapshot: its top level has neither segments nor device_traces")
	}
}

// listed returns the numbers of the records in a list, in order.
func (m *machine) listed(v value, of tag) []uint32 {
	l := m.lists.at(v.listID())
	ids := make([]uint32, 0, l.len())
	for i := range l.len() {
		if item := l.at(i); item.tag == of {
			ids = append(ids, item.id)
		} else {
			m.odd++
		}
	}
	return ids
}

// devices joins each device's segments with its events.
func (m *machine) devices(segments []uint32) ([]trace.Device, error) {
	byID := make(map[int]*trace.Device)
	device := func(id int) *trace.Device {
		if byID[id] == nil {
			byID[id] = &trace.Device{ID: id}
		}
		return byID[id]
	}
	parts, err := m.byDevice(segments)
	if err != nil {
		return nil, err
	}
	for id, own := range parts {
		device(id).Final.Segments = own
	}
	traces := m.lists.at(m.snapshot.traces.listID())
	for i := range traces.len() {
		events, err := m.events(m.resolve(traces.at(i)))
		if err != nil {
			return nil, err
		}
		if events.Len() > 0 {
			device(i).Events = events
		}
		if err := m.countDevices(len(byID)); err != nil {
			return nil, err
		}
	}
	if err := m.charge(int64(len(byID)) * deviceBytes); err != nil {
		return nil, err
	}
	devices := make([]trace.Device, 0, len(byID))
	for _, d := range byID {
		sortSegments(d.Final.Segments)
		devices = append(devices, *d)
	}
	slices.SortFunc(devices, func(a, b trace.Device) int { return cmp.Compare(a.ID, b.ID) })
	return devices, nil
}

func (m *machine) countDevices(n int) error {
	if n > maxDevices {
		return m.corrupt("the snapshot lists %d devices, more than %d", n, maxDevices)
	}
	return nil
}

// byDevice splits segments by device, without growing a slice. A segment that is
// listed several times is counted each time, with its blocks: readers of the
// result walk through them as often.
func (m *machine) byDevice(segments []uint32) (map[int][]trace.Segment, error) {
	counts := make(map[int]int)
	for _, id := range segments {
		counts[int(m.segments.at(id).Device)]++
		if err := m.countDevices(len(counts)); err != nil {
			return nil, err
		}
	}
	for at, id := range segments {
		if at >= m.segments.len() || id != uint32(at) {
			if err := m.charge(2*segmentBytes + int64(len(m.segments.at(id).Blocks))*blockBytes); err != nil {
				return nil, err
			}
		}
	}
	parts := make(map[int][]trace.Segment, len(counts))
	for _, id := range segments {
		s := m.segments.at(id)
		device := int(s.Device)
		if parts[device] == nil {
			parts[device] = make([]trace.Segment, 0, counts[device])
		}
		parts[device] = append(parts[device], *s)
	}
	return parts, nil
}

func sortSegments(segments []trace.Segment) {
	slices.SortStableFunc(segments, func(a, b trace.Segment) int { return cmp.Compare(a.Addr, b.Addr) })
}

// pinnedID is the number that PyTorch gives to the device of pinned host memory.
const pinnedID = -1

// pinned returns the pinned host memory, nil when the file says nothing of it.
// Its trace is one list, since there is one allocator for all devices.
func (m *machine) pinned() (*trace.Device, error) {
	c := &m.snapshot
	if c.found&(1<<nameHostSegments|1<<nameHostTraces) == 0 {
		return nil, nil
	}
	d := &trace.Device{ID: pinnedID}
	for _, id := range m.listed(c.hostSegments, tagSegment) {
		s := m.segments.at(id)
		if err := m.charge(2*segmentBytes + int64(len(s.Blocks))*blockBytes); err != nil {
			return nil, err
		}
		d.Final.Segments = append(d.Final.Segments, *s)
	}
	sortSegments(d.Final.Segments)
	var err error
	d.Events, err = m.events(c.hostTraces)
	return d, err
}

// events returns a device's trace. The log has the entries in the order read, so
// only a list that shuffles or repeats them is copied.
func (m *machine) events(v value) (trace.Events, error) {
	l := m.lists.at(v.listID())
	all := m.log.Events()
	if l.items == nil && (l.of == tagEvent || l.count == 0) {
		if m.snapshot.claimed += int(l.count); m.snapshot.claimed > m.log.Len() {
			return trace.Events{}, m.corrupt("two devices' traces share entries")
		}
		return all.Slice(int(l.first), int(l.first+l.count)), nil
	}
	if err := m.charge(int64(l.len())*eventBytes + chunkBytes); err != nil {
		return trace.Events{}, err
	}
	if l.len() > trace.MaxEvents {
		return trace.Events{}, m.corrupt("more than %d trace entries", trace.MaxEvents)
	}
	var log trace.EventLog
	for i := range l.len() {
		if item := l.at(i); item.tag == tagEvent {
			log.Append(*all.At(int(item.id)))
		} else {
			m.odd++
		}
	}
	return log.Events(), nil
}

// notices returns what readers should know before they trust the rest.
func (m *machine) notices() []string {
	var notices []string
	if at := m.snapshot.truncatedAt; at > 0 {
		notices = append(notices, fmt.Sprintf(
			"the file ends early, at byte %d: %d trace entries and %d segments were readable", at, m.log.Len(), m.segments.len()))
	}
	if len(m.unknownKeys) > 0 {
		notices = append(notices, "keys this version does not know were ignored: "+m.unknownText())
	}
	if m.odd > 0 {
		notices = append(notices, fmt.Sprintf("%d fields or items had an invalid value and were ignored", m.odd))
	}
	return notices
}

func (m *machine) unknownText() string {
	var keys []string
	for id := range m.unknownKeys {
		keys = append(keys, trace.Printable(m.in.Strings[id]))
	}
	slices.Sort(keys)
	if len(keys) > 5 {
		return fmt.Sprintf("%q and %d more", keys[:5], len(keys)-5)
	}
	return fmt.Sprintf("%q", keys)
}
