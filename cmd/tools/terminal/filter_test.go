package terminal

import (
	"bytes"
	"testing"
)

func TestFilterKeepsWhatTheEmulatorKnows(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"text":                    {"héllo ─█ 😀", "héllo ─█ 😀"},
		"colours and moves":       {"\x1b[38;5;74;1mx\x1b[m\x1b[2J\x1b[4G", "\x1b[38;5;74;1mx\x1b[m\x1b[2J\x1b[4G"},
		"modes":                   {"\x1b[?1049h\x1b[?25l", "\x1b[?1049h\x1b[?25l"},
		"keyboard protocols":      {"a\x1b[>4;2m\x1b[=0;1u\x1b[?u\x1b[<1ub", "ab"},
		"questions about modes":   {"a\x1b[?2026$pb\x1b[>q", "ab"},
		"restoring of the cursor": {"\x1b[u", "\x1b[u"},
		"sequences of two bytes":  {"\x1b7\x1b8", "\x1b7\x1b8"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for size := 1; size <= len(test.in); size++ {
				var out bytes.Buffer
				f := sequenceFilter{out: &out}
				for at := 0; at < len(test.in); at += size {
					f.write([]byte(test.in[at:min(at+size, len(test.in))]))
				}
				if got := out.String(); got != test.want {
					t.Errorf("in pieces of %d bytes: got %q, want %q", size, got, test.want)
				}
			}
		})
	}
}
