package overview

import (
	"fmt"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// settings lists the allocator's settings as the file has them.
func (p *Page) settings() section {
	lines := settingLines(p.Scene.Trace().Settings)
	if len(lines) == 0 {
		return section{}
	}
	return section{1 + len(lines), func(c screen.Canvas) {
		c.Rule(0, "Allocator settings", "", false)
		wide := 0
		for _, l := range lines {
			wide = max(wide, screen.Width(l.Label))
		}
		wide = min(wide, c.Width()/2)
		for i, l := range lines {
			c.Fit(1, 1+i, wide, l.Label, screen.Dim)
			c.Fit(wide+3, 1+i, c.Width()-wide-4, l.Text, screen.Plain)
		}
	}}
}

func settingLines(settings []trace.Setting) []page.Line {
	lines := make([]page.Line, len(settings))
	for i, s := range settings {
		lines[i] = page.Pair(s.Key, valueText(s.Value))
	}
	return lines
}

// valueText writes a setting's value as Python would.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case string:
		if v == "" {
			return "(empty)"
		}
		return v
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = valueText(v[i])
		}
		return strings.Join(parts, ", ")
	case int64:
		if v >= 1<<20 && v%1024 == 0 {
			return fmt.Sprint(v) + " (" + screen.Bytes(v) + ")"
		}
		return fmt.Sprint(v)
	case []trace.Setting:
		return nestedText(v)
	default:
		return fmt.Sprint(v)
	}
}

// nestedText writes settings within a setting on one line, and says it once
// when all are the same.
func nestedText(settings []trace.Setting) string {
	parts, same := make([]string, len(settings)), true
	for i, s := range settings {
		parts[i] = s.Key + "=" + valueText(s.Value)
		same = same && valueText(s.Value) == valueText(settings[0].Value)
	}
	if same && len(settings) > 1 {
		return "all " + valueText(settings[0].Value)
	}
	return strings.Join(parts, ", ")
}
