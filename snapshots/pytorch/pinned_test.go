package pytorch_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// recorded decodes a file that PyTorch wrote on the imitated GPU. Only paths were
// changed in it.
func recorded(t *testing.T, name string) *trace.Trace {
	t.Helper()
	packed, err := os.Open("testdata/" + name + ".pickle.gz")
	fatal.If(t, err)
	defer func() { _ = packed.Close() }()
	unpacked, err := gzip.NewReader(packed)
	fatal.If(t, err)
	data, err := io.ReadAll(unpacked)
	fatal.If(t, err)
	return decode(t, data)
}

// TestPinnedMemoryOfARealFile has what the program of the file has at its end: 4 MiB
// of staging, eight logits of 512 KiB and a batch, of 1 MiB and 2 KiB. The batch
// before is held for the next.
func TestPinnedMemoryOfARealFile(t *testing.T) {
	tr := recorded(t, "pinned.torch2.15")
	if len(tr.Notices) > 0 || tr.Info.Writer != "PyTorch 2.14, 2.15 or later" || len(tr.Devices) != 1 || tr.Devices[0].ID != 0 {
		t.Errorf("notices %q of %s, %d devices", tr.Notices, tr.Info.Writer, len(tr.Devices))
	}
	d := tr.Pinned
	if d == nil {
		t.Fatal("no pinned memory")
	}
	inUse, held := int64(0), int64(0)
	for _, s := range d.Final.Segments {
		held += s.Size
		inUse += s.Active
	}
	if d.Events.Len() != 68 || inUse != 9<<20+2<<10 || held != 10<<20+4<<10 {
		t.Errorf("%d events, %d bytes in use of %d", d.Events.Len(), inUse, held)
	}
	if _, problems := trace.Rewind(tr, d); problems.Count > 0 {
		t.Errorf("it contradicts itself: %v", problems.First)
	}
	sameMeaning(t, tr, decode(t, write(t, tr)))
}

func TestTheAllocatorsOwnNotesOfARealFile(t *testing.T) {
	tr := recorded(t, "addressed.torch2.15")
	noted := 0
	events := tr.Devices[0].Events
	for i := range events.Len() {
		if tr.Tables.Internal(events.At(i).Note) == trace.AtAddress {
			noted++
		}
	}
	if noted != 4 || len(tr.Notices) > 0 || tr.Info.Writer != "PyTorch 2.15 or later" {
		t.Errorf("%d events are noted by %s, with notices %q", noted, tr.Info.Writer, tr.Notices)
	}
	sameMeaning(t, tr, decode(t, write(t, tr)))
}

// TestNotesOfEarlierReleasesAreFound has the note where PyTorch 2.13 and 2.14 have
// it: in place of the program's metadata.
func TestNotesOfEarlierReleasesAreFound(t *testing.T) {
	tr, e := entryOf(t, `"user_metadata": "mallocWithAddress"`)
	if tr.Tables.Internal(e.Note) != trace.AtAddress {
		t.Error("the note is not found")
	}
	if tr, e = entryOf(t, `"user_metadata": "step 3"`); tr.Tables.Internal(e.Note) != "" {
		t.Error("the program's metadata is taken for the allocator's")
	}
}

func TestEachVersionIsNamed(t *testing.T) {
	names := map[int]string{
		113: "PyTorch 1.13", 200: "PyTorch 2.0", 201: "PyTorch 2.1", 202: "PyTorch 2.2", 203: "PyTorch 2.3–2.4", 205: "PyTorch 2.5–2.7",
		208: "PyTorch 2.8", 209: "PyTorch 2.9", 210: "PyTorch 2.10–2.11", 211: "PyTorch 2.10–2.11", 212: "PyTorch 2.12–2.13",
		213: "PyTorch 2.13", 214: "PyTorch 2.14, 2.15 or later", 215: "PyTorch 2.15 or later",
	}
	for _, layout := range pytorchtest.Layouts {
		if layout.NoPool {
			continue
		}
		tr := decode(t, write(t, layout.Strip(pytorchtest.Random(pytorchtest.Options{Seed: 3, Operations: 400}))))
		if got := tr.Info.Writer; got != names[layout.Version] {
			t.Errorf("a file of %s is taken for one of %s", layout.Name, got)
		}
		if (tr.Pinned != nil) != (layout.Version >= 214) {
			t.Errorf("pinned memory of %s: %v", layout.Name, tr.Pinned)
		}
	}
	reserved := `{"segments": [], "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments_reserve:4G"}}`
	tr, err := pytorch.DecodeJSON(t.Context(), strings.NewReader(reserved), pytorch.Options{})
	if err != nil || tr.Info.Writer != "PyTorch 2.15 or later" {
		t.Errorf("a setting of 2.15 is taken for one of %v, error %v", tr, err)
	}
}

func TestPinnedMemoryThatIsWrong(t *testing.T) {
	const alloc = `{"action": "alloc", "addr": 4096, "size": 512}`
	for name, test := range map[string]struct {
		json           string
		events, blocks int
		notice         string
	}{
		"nothing was recorded": {`"host_segments": [], "host_traces": []`, 0, 0, ""},
		"only events":          {`"host_traces": [` + alloc + `]`, 1, 0, ""},
		"only segments":        {`"host_segments": [{"device": -1, "address": 4096, "total_size": 512, "blocks": []}]`, 0, 1, ""},
		"no lists":             {`"host_segments": 7, "host_traces": "x"`, 0, 0, ""},
		"a list for a device":  {`"host_traces": [[` + alloc + `]]`, 0, 0, "1 fields or items had an invalid value"},
		"a segment and an event in place of each other": {
			`"host_segments": [` + alloc + `], "host_traces": [{"total_size": 512, "blocks": []}]`, 0, 0, "2 fields or items had an invalid value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := pytorch.DecodeJSON(t.Context(), strings.NewReader(`{"segments": [], `+test.json+`}`), pytorch.Options{})
			fatal.If(t, err)
			d := tr.Pinned
			if d == nil || d.Events.Len() != test.events || len(d.Final.Segments) != test.blocks || len(tr.Devices) > 0 {
				t.Errorf("pinned memory %+v, devices %v", d, tr.Devices)
			}
			if got := strings.Join(tr.Notices, " "); !strings.HasPrefix(got, test.notice) || test.notice == "" && got != "" {
				t.Errorf("notices %q, want %q", got, test.notice)
			}
		})
	}
}

// TestPinnedMemoryIsCounted lists a device's entries and segments a second time.
func TestPinnedMemoryIsCounted(t *testing.T) {
	text := func(s string) string { return fmt.Sprintf("X%c\x00\x00\x00%s", len(s), s) }
	entry := "}(" + text("action") + text("alloc") + text("size") + "K\x07u"
	data := "\x80\x02}(" + text("device_traces") + "](](" + entry + "eq\x00e" + text("host_traces") + "h\x00u."
	_, err := pytorch.Decode(t.Context(), strings.NewReader(data), pytorch.Options{})
	if err == nil || !strings.Contains(err.Error(), "share entries") {
		t.Errorf("entries of a device and of the host: error %v", err)
	}
	segment := "}(" + text("total_size") + "K\x01" + text("blocks") + "](" +
		strings.Repeat("}("+text("size")+"K\x01"+text("state")+text("inactive")+"u", 500) + "euq\x00"
	data = "\x80\x02}(" + text("segments") + "](" + segment + "e" + text("host_segments") + "](" + strings.Repeat("h\x00", 100_000) + "eu."
	_, err = pytorch.Decode(t.Context(), bytes.NewReader([]byte(data)), pytorch.Options{Bound: trace.FixedBound(64 << 20)})
	wantTooMuch(t, err)
}

// trimmed reports whether events or segments were removed from a file by hand,
// so that its parts contradict each other.
func trimmed(path string) bool { return strings.HasPrefix(filepath.Base(path), "trimmed_by_hand") }

func TestRealFilesKeepTheAllocatorsRules(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			tr := decodeFile(t, path)
			found := tracetest.Check(tr)
			if trimmed(path) {
				if found.Count == 0 {
					t.Error("no problem found in a file that was trimmed by hand")
				}
				return
			}
			for i := range tr.Devices {
				base, _ := trace.Rewind(tr, &tr.Devices[i])
				start := *tr
				start.Devices = []trace.Device{{ID: tr.Devices[i].ID, Final: base}}
				found.First = append(found.First, tracetest.Check(&start).First...)
			}
			for _, p := range found.First {
				t.Error(p)
			}
		})
	}
}
