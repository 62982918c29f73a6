package pytorch_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"

	"github.com/google/go-cmp/cmp"
)

// TestTheWebViewerFindsACategoryAtEveryEvent checks what the viewer needs: the
// last category of an allocation at its alloc event, and the word unknown. The
// events' own categories are read back.
func TestTheWebViewerFindsACategoryAtEveryEvent(t *testing.T) {
	const scratch, saved, nameless = `note scratch category="workspace" layer="h.0"
`, `note saved category="activation" layer="h.1" role="exp_avg" shape="[768, 3072]" dtype="f32"
`, `note nameless layer="h.2"
`
	needPython(t)
	tests := map[string]struct {
		notes, events string
		want          []string // action, category and noted_category of each event
	}{
		"memory that turns out to be for something else": {
			scratch + saved,
			`segment_alloc 0x0 4096
alloc 0x0 512 note=scratch
retag 0x0 512 note=saved
free_completed 0x0 512 note=saved
alloc 0x0 512 note=scratch`,
			[]string{
				`segment_alloc unknown ""`, `alloc activation "workspace"`, "retag activation", "free_completed activation", "alloc workspace",
			},
		},
		"memory whose use is known only later": {
			saved + nameless,
			`alloc 0x0 512 note=nameless
retag 0x0 512 note=saved
step_begin 0x0 1`,
			[]string{`alloc activation ""`, "retag activation", `step_begin unknown ""`},
		},
		"memory whose use stays unknown": {
			saved + nameless,
			`alloc 0x0 512 note=nameless
alloc 0x1000 512
alloc 0x2000 512 note=saved`,
			[]string{`alloc unknown ""`, `alloc unknown ""`, "alloc activation", `snapshot unknown ""`},
		},
		"events all of which have a category": {
			saved, "alloc 0x0 512 note=saved\n", []string{"alloc activation", `snapshot unknown ""`},
		},
		"a writer that says unknown itself": {
			saved + "note whole category=\"unknown\"\n",
			"alloc 0x0 512 note=whole\nalloc 0x1000 512 note=saved\nstep_begin 0x0 1",
			[]string{"alloc unknown", "alloc activation", "step_begin"},
		},
		"no category at all, as in PyTorch's own files": {
			nameless, "alloc 0x0 512 note=nameless\n", []string{"alloc"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tr := tracetest.Parse(t, test.notes+"device 0\n"+test.events)
			tr.Info.TraceLists = 1
			data := write(t, tr)
			if diff := cmp.Diff(test.want, viewerCategories(t, data)); diff != "" {
				t.Errorf("what the viewer finds differs (-want +got):\n%s", diff)
			}
			again := decode(t, data)
			d := &again.Devices[0]
			d.Events = d.Events.Slice(0, tr.Devices[0].Events.Len()) // without the event added
			sameMeaning(t, tr, again)
			if !bytes.Equal(data, write(t, decode(t, data))) {
				t.Error("written again, the file differs")
			}
		})
	}
}

const categoriesInPython = `
import json, pickle, sys
for e in pickle.load(open(sys.argv[1], 'rb'))['device_traces'][0]:
    print(e['action'], *([e['category']] if 'category' in e else []), *([json.dumps(e['noted_category'])] if 'noted_category' in e else []))
`

// viewerCategories returns the action and the categories of each event of a
// pickle's first device, as Python loads them.
func viewerCategories(t *testing.T, data []byte) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", "-c", categoriesInPython, save(t, "noted.pickle", data)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
