package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

func read(t testing.TB, recording []byte) (*trace.Trace, error) {
	t.Helper()
	return wire.Read(t.Context(), bytes.NewReader(recording), wire.Options{Total: int64(len(recording))})
}

func TestARecordingIsTheSession(t *testing.T) {
	whole := written(t, session)
	s := wire.NewStream(bytes.NewReader(whole), wire.StreamOptions{})
	fatal.If(t, drain(t, s))
	live := s.Trace()
	got, err := wire.Read(t.Context(), iotest.OneByteReader(bytes.NewReader(whole)), wire.Options{})
	fatal.If(t, err)
	equal.Values(t, "the result", asText(t, live), asText(t, got))
	live.Steps[0].Loss, got.Steps[0].Loss = 0, 0 // no number, which equals nothing
	equal.Values(t, "what is live", live.Live, got.Live)
	equal.Values(t, "the steps", live.Steps, got.Steps)
	want := trace.Info{Kind: "recording", Container: "mtr", PickleProtocol: -1, Writer: "memtop's engine", TraceLists: 1}
	if diff := cmp.Diff(want, got.Info); diff != "" || len(got.Notices) > 0 {
		t.Errorf("info (-want +got):\n%s\nnotices: %q", diff, got.Notices)
	}
}

// TestARecordingMayEndAnywhere cuts a recording at every byte.
func TestARecordingMayEndAnywhere(t *testing.T) {
	whole := written(t, session)
	events := 0
	for n := range whole {
		got, err := read(t, whole[:n])
		if err != nil {
			if corrupt := (*wire.CorruptError)(nil); !errors.As(err, &corrupt) || n > 600 {
				t.Fatalf("cut after %d bytes of %d: %v", n, len(whole), err)
			}
			continue
		}
		if got.Info.Truncated == wholeFrames(t, whole[:n]) || len(got.Notices) != 1 || got.Live.Connected {
			t.Fatalf("cut after %d bytes: %+v, notices %q", n, got.Info, got.Notices)
		}
		if want := map[bool]string{true: "killed", false: "goodbye"}[got.Info.Truncated]; !strings.Contains(got.Notices[0], want) {
			t.Fatalf("cut after %d bytes: notices %q, want one with %q", n, got.Notices, want)
		}
		if d := got.Device(0); d != nil {
			if d.Events.Len() < events {
				t.Fatalf("cut after %d bytes there are %d events, before there were %d", n, d.Events.Len(), events)
			}
			events = d.Events.Len()
		}
		if problems := tracetest.Check(got); problems.Count > 0 {
			t.Fatalf("cut after %d bytes: %v", n, problems)
		}
	}
	if events != 14 {
		t.Errorf("%d events at most, want 14", events)
	}
}

// wholeFrames reports whether a recording ends after a frame, as the copier sees
// frames.
func wholeFrames(t *testing.T, recording []byte) bool {
	t.Helper()
	copier := wire.NewCopier(io.Discard, bytes.NewReader(recording), wire.Limits{})
	for {
		switch _, err := copier.Next(); {
		case errors.Is(err, io.EOF):
			return true
		case errors.Is(err, io.ErrUnexpectedEOF):
			return false
		case err != nil:
			t.Fatal(err)
		}
	}
}

// TestDamageIsFound changes every byte, and finds that or reads the same.
func TestDamageIsFound(t *testing.T) {
	whole := written(t, session)
	for n := range whole {
		damaged := slices.Clone(whole)
		damaged[n] ^= 0x10
		_, err := read(t, damaged)
		var corrupt *wire.CorruptError
		var version *wire.VersionError
		switch {
		case n == 7: // a minor version
			if err != nil {
				t.Errorf("another minor version: %v", err)
			}
		case n == 6:
			if !errors.As(err, &version) || version.Theirs != wire.Version^0x10 {
				t.Errorf("another version: %v", err)
			}
		case err == nil:
			// The length may have become one that goes past the end.
			if got, _ := read(t, damaged); !got.Info.Truncated {
				t.Errorf("byte %d of %d is damaged, and there is no error", n, len(whole))
			}
		case !errors.As(err, &corrupt):
			t.Errorf("byte %d is damaged: %v", n, err)
		}
	}
}

func TestRecordingsOfAllKindsAreRead(t *testing.T) {
	whole := written(t, session)
	unknown := func(kind byte) []byte {
		f := []byte{kind, 3, 1, 2, 3}
		return append(f, sum(f)...)
	}
	tests := map[string]struct {
		recording []byte
		notice    string
		events    int
	}{
		"with frames that nobody knows": {slices.Concat(whole[:8], unknown(0x7f), whole[8:], unknown(0x30)), "", 14},
		"two of them, one after another": {
			slices.Concat(whole, whole), "", 14 + 2 + 14,
		},
		"with zeros at the end":    {slices.Concat(whole[:len(whole)-40], make([]byte, 4096)), "killed", 14},
		"with zeros after the end": {slices.Concat(whole, make([]byte, 4096)), "zeros", 14},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, test.recording)
			if err != nil {
				if name == "with zeros at the end" && strings.Contains(err.Error(), "checksum") {
					return // the zeros are within a frame
				}
				t.Fatal(err)
			}
			if notices := strings.Join(got.Notices, "; "); !strings.Contains(notices, test.notice) || (test.notice == "") != (notices == "") {
				t.Errorf("notices %q, want %q", notices, test.notice)
			}
			if n := got.Device(0).Events.Len(); n != test.events {
				t.Errorf("%d events, want %d", n, test.events)
			}
			for _, p := range tracetest.Check(got).First {
				if !strings.Contains(p.Reason, "the clock goes back") { // as it does in the second of two
					t.Error(p)
				}
			}
		})
	}
}

func TestReadingStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := wire.Read(ctx, bytes.NewReader(written(t, session)), wire.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestACopyIsWholeWhereverItStops(t *testing.T) {
	whole := written(t, session)
	for _, stop := range []int{0, 5, 8, 700, len(whole) - 1, len(whole)} {
		var out bytes.Buffer
		c := wire.NewCopier(&out, iotest.OneByteReader(bytes.NewReader(whole[:stop])), wire.Limits{})
		last, err := wire.Type(0), error(nil)
		for err == nil {
			var next wire.Type
			if next, err = c.Next(); err == nil {
				last = next
			}
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("stopped after %d bytes: %v", stop, err)
		}
		if !bytes.HasPrefix(whole, out.Bytes()) {
			t.Fatalf("stopped after %d bytes: the copy is not what was there", stop)
		}
		if last != wire.ByeFrame {
			fatal.If(t, c.Bye("recorded up to here"))
		}
		if stop < 700 {
			continue // not even a hello
		}
		got, err := read(t, out.Bytes())
		if err != nil || got.Info.Truncated {
			t.Fatalf("stopped after %d bytes: %v, truncated %v", stop, err, got.Info.Truncated)
		}
		if want := map[bool]string{true: "the program ended", false: "recorded up to here"}[stop == len(whole)]; got.Live.Note != want {
			t.Errorf("the recording ends with %q, want %q", got.Live.Note, want)
		}
	}
}

func TestACopyGoesOnAfterALostConnection(t *testing.T) {
	whole := written(t, session)
	var out bytes.Buffer
	for _, p := range [][]byte{whole[:len(whole)-10], whole} {
		c := wire.NewCopier(&out, bytes.NewReader(p), wire.Limits{})
		for err := error(nil); err == nil; {
			_, err = c.Next()
		}
	}
	got, err := read(t, out.Bytes())
	fatal.If(t, err)
	if n := len(got.Live.Gaps); n != 3 || got.Info.Truncated {
		t.Errorf("%d gaps, want 3: one in each stream and one between them", n)
	}
}

func TestNoticesOfAProgramAreShownWithItsTrace(t *testing.T) {
	greeted := greeting()
	for range 100 {
		greeted.Notices = append(greeted.Notices, "devices are not shown\x1b[2J")
	}
	got, err := read(t, written(t, func(e *wire.Encoder) {
		e.Hello(greeted)
		e.Bye("done")
	}))
	fatal.If(t, err)
	if len(got.Notices) != 8 || strings.Contains(got.Notices[0], "\x1b") || !strings.HasPrefix(got.Notices[0], "devices are not shown") {
		t.Errorf("notices %q", got.Notices)
	}
}
