package terminal

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"

	"github.com/google/go-cmp/cmp"
)

// TestAnAnimationShowsEachScreenOnce plays three screens, of which one is overwritten
// before anybody sees it.
func TestAnAnimationShowsEachScreenOnce(t *testing.T) {
	c := &Cast{Width: 12, Height: 3, Events: []CastEvent{
		{0, "one\r\nkept <&>"}, {1, "\x1b[1;1Hunseen"}, {1, "\x1b[1;1Htwo   "}, {3, "\x1b[1;1Hthree"}, {4, ""},
	}}
	frames, rows := c.play()
	want := []frame{{0, []int{0, 1, blank}}, {1, []int{2, 1, blank}}, {3, []int{3, 1, blank}}}
	if diff := cmp.Diff(want, frames, cmp.AllowUnexported(frame{})); diff != "" || len(rows) != 4 {
		t.Errorf("%d rows, %s", len(rows), diff)
	}
	var picture bytes.Buffer
	fatal.If(t, c.SVG(&picture))
	wellFormed(t, picture.Bytes())
	for _, part := range []string{"animation:play 4s", "25.000%{", "75.000%{", ">kept &lt;&amp;&gt;<", "prefers-reduced-motion"} {
		if !strings.Contains(picture.String(), part) {
			t.Errorf("the picture lacks %q", part)
		}
	}
	if strings.Contains(picture.String(), "unseen") {
		t.Error("what nobody sees is drawn")
	}
}

func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheReadmesPictureIsItsRecording draws the recording in docs again. It also
// holds what a page on the web shows as an image: no script, nothing from elsewhere.
func TestTheReadmesPictureIsItsRecording(t *testing.T) {
	in, err := os.Open("../../../docs/demo.cast")
	fatal.If(t, err)
	defer in.Close()
	c, err := ReadCast(in)
	fatal.If(t, err)
	var drawn bytes.Buffer
	fatal.If(t, c.SVG(&drawn))
	committed := fatal.Read(t, "../../../docs/demo.svg")
	if !bytes.Equal(drawn.Bytes(), committed) {
		t.Error("docs/demo.svg is not what docs/demo.cast shows: make demo-picture")
	}
	wellFormed(t, committed)
	const most = 400 << 10
	if len(committed) > most {
		t.Errorf("the picture has %d bytes, %d are allowed", len(committed), most)
	}
	for _, alien := range []string{"<script", "@import", "url(", "<image", "<foreignObject"} {
		if bytes.Contains(committed, []byte(alien)) {
			t.Errorf("the picture has %s", alien)
		}
	}
	if end := c.Events[len(c.Events)-1].At; end < 15 || end > 30 {
		t.Errorf("the recording takes %.1f s", end)
	}
}
