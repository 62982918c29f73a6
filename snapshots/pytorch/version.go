package pytorch

import (
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// writer returns the program that wrote the file. Only our own engine records
// layers; it writes as a PyTorch of a certain version does.
func (m *machine) writer() string {
	c := &m.snapshot
	if c.entryKeys&(1<<nameLayer) != 0 {
		return "memtop, as " + m.versions()
	}
	return m.versions()
}

// versions returns the PyTorch versions that write such files, by the newest
// feature in them. PyTorch 2.0 added traces, 2.1 addresses and stacks of blocks,
// 2.2 times, 2.3 settings, 2.5 annotations, 2.8 compile contexts, 2.9 one more
// setting, 2.10 user metadata, 2.12 pools of entries, 2.13 two settings of pinned
// memory, 2.14 pinned memory itself and annotate, 2.15 notes of the allocator and
// the reserve of expandable segments. A file without entries cannot show the
// newest features.
func (m *machine) versions() string {
	c := &m.snapshot
	switch {
	case c.entryKeys&(1<<nameInternalMetadata) != 0, m.inSettings(1, func(s string) bool { return strings.Contains(s, "expandable_segments_reserve") }):
		return "PyTorch 2.15 or later"
	case m.kinds&(1<<trace.Annotate) != 0, c.found&(1<<nameHostSegments|1<<nameHostTraces) != 0:
		return "PyTorch 2.14, 2.15 or later"
	case m.hasSettingText("max_round_threshold"):
		return "PyTorch 2.13"
	case c.entryKeys&(1<<namePoolID|1<<nameForwardFrames) != 0,
		c.overflowed.tag != tagNone, c.maxEntries.tag != tagNone, m.hasSetting(nameOverflowed), m.hasSetting(nameMaxEntries):
		return "PyTorch 2.12–2.13"
	case c.entryKeys&(1<<nameUserMetadata) != 0:
		return "PyTorch 2.10–2.11"
	}
	if c.entryKeys == 0 && c.segmentKeys&(1<<nameSegmentPoolID) != 0 { // entries could show more
		return m.earlierWriter() + " or later"
	}
	return m.earlierWriter()
}

func (m *machine) earlierWriter() string {
	c := &m.snapshot
	switch {
	case m.hasSettingText("graph_capture_record_stream_reuse"):
		return "PyTorch 2.9"
	case c.entryKeys&(1<<nameCompileContext) != 0:
		return "PyTorch 2.8"
	case c.found&(1<<nameExternalAnnotations) != 0:
		return "PyTorch 2.5–2.7"
	case c.found&(1<<nameAllocatorSettings) != 0:
		return "PyTorch 2.3–2.4"
	case c.entryKeys&(1<<nameTime) != 0:
		return "PyTorch 2.2"
	case c.segmentKeys&(1<<nameSegmentPoolID|1<<nameIsExpandable) != 0, c.blockKeys&(1<<nameFrames) != 0:
		return "PyTorch 2.1"
	case c.segmentKeys&(1<<nameRequestedSize) != 0:
		return "PyTorch 2.0"
	default:
		return "PyTorch 1.13"
	}
}

func (m *machine) hasSetting(k name) bool { return m.hasSettingText(names[k]) }

func (m *machine) hasSettingText(key string) bool {
	return m.inSettings(0, func(s string) bool { return s == key })
}

// inSettings reports whether one of the settings' keys (0) or values (1) is such a
// text.
func (m *machine) inSettings(at int, is func(string) bool) bool {
	v := m.snapshot.settings
	if v.tag != tagDict {
		return false
	}
	items := m.dicts[v.id].items
	for i := at; i < len(items); i += 2 {
		if id, ok := m.resolve(items[i]).text(); ok && is(m.in.Strings[id]) {
			return true
		}
	}
	return false
}
