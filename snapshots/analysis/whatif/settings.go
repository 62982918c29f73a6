package whatif

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// SettingsOf returns the settings of a recording as a text: the writer's text,
// else a text made from the values that it wrote, else from what the events show.
// "" means the defaults.
func SettingsOf(t *trace.Trace, d *trace.Device) string {
	if text := trace.SettingsText(t.Settings); text != "" {
		return text
	}
	var parts []string
	for _, s := range t.Settings {
		if text := settingText(s); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 && maps(d) {
		return "expandable_segments:True"
	}
	return strings.Join(parts, ",")
}

// settingText returns a value as the text that sets it, "" when it is the default.
func settingText(s trace.Setting) string {
	switch v := s.Value.(type) {
	case int64:
		if s.Key == "max_split_size" && v > 0 {
			return fmt.Sprintf("max_split_size_mb:%d", v>>20)
		}
	case float64:
		if s.Key == "garbage_collection_threshold" && v > 0 {
			return fmt.Sprintf("garbage_collection_threshold:%g", v)
		}
	case bool:
		if s.Key == "expandable_segments" && v {
			return "expandable_segments:True"
		}
	case []trace.Setting:
		if s.Key == "roundup_power2_divisions" {
			return divisionsText(v)
		}
	}
	return ""
}

func divisionsText(sizes []trace.Setting) string {
	var parts []string
	some := false
	for _, s := range sizes {
		n, _ := s.Value.(int64)
		some = some || n > 0
		parts = append(parts, fmt.Sprintf("%s:%d", s.Key, n))
	}
	if !some {
		return ""
	}
	return "roundup_power2_divisions:[" + strings.Join(parts, ",") + "]"
}

// maps reports whether the recording shows expandable segments.
func maps(d *trace.Device) bool {
	if slices.ContainsFunc(d.Final.Segments, func(s trace.Segment) bool { return s.Expandable }) {
		return true
	}
	for _, e := range d.Events.Range(0, d.Events.Len()) {
		if e.Kind == trace.SegmentMap || e.Kind == trace.SegmentUnmap {
			return true
		}
	}
	return false
}
