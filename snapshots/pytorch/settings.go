package pytorch

import (
	"math"
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// settingsDepth and settingsSize bound the allocator's settings that are kept;
// real files have two levels and some forty values.
const (
	settingsDepth = 8
	settingsSize  = 4096
)

// settings returns the allocator's settings, nil when the file has none.
func (m *machine) settings(v value) []trace.Setting {
	if v.tag != tagDict {
		return nil
	}
	budget := settingsSize
	return m.settingsOf(v, settingsDepth, &budget)
}

func (m *machine) settingsOf(v value, depth int, budget *int) []trace.Setting {
	items := m.dicts[v.id].items
	settings := make([]trace.Setting, 0, min(len(items)/2, *budget))
	for i := 0; i+1 < len(items) && *budget > 0; i += 2 {
		*budget--
		settings = append(settings, trace.Setting{
			Key:   m.keyText(items[i]),
			Value: m.plain(items[i+1], depth-1, budget),
		})
	}
	return settings
}

// keyText returns a dict's key as text; some versions key by device number.
func (m *machine) keyText(v value) string {
	if n, ok := v.integer(); ok {
		return strconv.FormatInt(n, 10)
	}
	if id, ok := v.text(); ok {
		return m.in.Strings[id]
	}
	return ""
}

// plain returns a value as trace.Setting describes, nil past the depth.
func (m *machine) plain(v value, depth int, budget *int) any {
	v = m.resolve(v)
	switch v.tag {
	case tagBool:
		return v.n != 0
	case tagInt:
		return int64(v.n)
	case tagUint:
		return v.n
	case tagFloat:
		return math.Float64frombits(v.n)
	case tagString:
		return m.in.Strings[v.id]
	case tagPool:
		p := m.in.Pools[v.id]
		return []any{p[0], p[1]}
	case tagList, tagTuple:
		return m.plainList(v, depth, budget)
	case tagDict:
		if depth <= 0 {
			return nil
		}
		return m.settingsOf(v, depth, budget)
	default:
		return nil
	}
}

func (m *machine) plainList(v value, depth int, budget *int) any {
	items := []any{}
	if depth <= 0 {
		return items
	}
	l := m.lists.at(v.id)
	for i := 0; i < l.len() && *budget > 0; i++ {
		*budget--
		items = append(items, m.plain(l.at(i), depth-1, budget))
	}
	return items
}

// markOverflow marks the devices whose ring buffers lost entries. PyTorch 2.12
// writes this in a form that is not known: once, per device as a list or as a
// dict, at the top or among the settings. All are read.
func (m *machine) markOverflow(t *trace.Trace) {
	budget := settingsSize
	overflowed := m.plain(m.snapshot.overflowed, settingsDepth, &budget)
	maximum := m.plain(m.snapshot.maxEntries, settingsDepth, &budget)
	for _, s := range t.Settings {
		switch s.Key {
		case names[nameOverflowed]:
			overflowed = s.Value
		case names[nameMaxEntries]:
			maximum = s.Value
		}
	}
	for i := range t.Devices {
		d := &t.Devices[i]
		d.Overflowed = perDevice(overflowed, d.ID) != 0
		d.MaxEvents = perDevice(maximum, d.ID)
	}
}

// perDevice reads a number or boolean that may be given once or by device.
func perDevice(v any, device int) int64 {
	switch v := v.(type) {
	case bool:
		if v {
			return 1
		}
	case int64:
		return v
	case float64:
		return int64(v)
	case []any:
		if device < len(v) && device >= 0 {
			return perDevice(v[device], -1)
		}
	case []trace.Setting:
		for _, s := range v {
			if s.Key == strconv.Itoa(device) {
				return perDevice(s.Value, -1)
			}
		}
	}
	return 0
}
