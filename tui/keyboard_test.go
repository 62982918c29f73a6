package tui

import (
	"strings"
	"testing"
	"time"
)

// TestPastesAreHandedOnShort gives what was read at once, a second between reads
// where a text is "".
func TestPastesAreHandedOnShort(t *testing.T) {
	full := strings.Repeat("j", atOnce)
	short := pasteBegin + ellipsis + pasteEnd
	for name, test := range map[string]struct {
		reads []string
		want  string
	}{
		"keys":                                {[]string{"q", "\x1b", "\x1b[B", "\x1b[200", "é"}, "q\x1b\x1b[B\x1b[200é"},
		"a paste":                             {[]string{"/" + pasteBegin + "soft\xffmax\x03\x1b]\n" + pasteEnd + "\r"}, "/" + pasteBegin + "softmax]" + pasteEnd + "\r"},
		"a paste in several reads":            {[]string{pasteBegin[:3], pasteBegin[3:] + "a", "\x1b", "\x1b[20", "é" + pasteEnd[:4], pasteEnd[4:] + "q"}, pasteBegin + "a[20é" + pasteEnd + "q"},
		"a long paste":                        {[]string{pasteBegin + strings.Repeat("a", pasteLimit+1) + pasteEnd}, pasteBegin + strings.Repeat("a", pasteLimit) + ellipsis + pasteEnd},
		"ctrl-c in a paste":                   {[]string{pasteBegin + "a\x03b" + pasteEnd}, pasteBegin + "ab" + pasteEnd},
		"ctrl-c typed while a paste lasts":    {[]string{pasteBegin + "a", "\x03"}, pasteBegin + "a" + pasteEnd + "\x03"},
		"the same by a terminal with its own": {[]string{pasteBegin + "a", "\x1b[99;5u"}, pasteBegin + "a" + pasteEnd + "\x1b[99;5u"},
		"a paste without marks":               {[]string{full, full, "jjq"}, short},
		"keys after one":                      {[]string{full, "jj", "", "q"}, short + "q"},
		"ctrl-c in one":                       {[]string{full, "j\x03j"}, short + "\x03"},
		"a marked paste after one":            {[]string{full, full, pasteBegin + "a" + pasteEnd + "j"}, short + pasteBegin + "a" + pasteEnd + "j"},
		"a marked paste of a full read":       {[]string{(pasteBegin + full)[:atOnce], full[:len(pasteBegin)] + pasteEnd}, pasteBegin + full + pasteEnd},
	} {
		t.Run(name, func(t *testing.T) {
			var keys typing
			var got []byte
			now := time.Unix(1_752_000_000, 0)
			for _, read := range test.reads {
				if read == "" {
					now = now.Add(time.Second)
				}
				got = append(got, keys.take([]byte(read), now)...)
			}
			if string(got) != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
