package python

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The variables of a program that is rehearsed, see memtop/imitated.py and
// memtop/rehearsal.py.
const (
	RehearsalVariable = "MEMTOP_REHEARSAL"         // the folder where its processes say how they fare
	WorldVariable     = "MEMTOP_REHEARSAL_WORLD"   // how many ranks there would be, of which one runs, see memtop/alone.py
	ChangesVariable   = "MEMTOP_REHEARSAL_CHANGES" // of the agent's settings, KEY=VALUE with spaces between, see memtop/trial.py
	StepsVariable     = "MEMTOP_REHEARSAL_STEPS"   // after how many it ends, 0 for when its peak stays
	UpperVariable     = "MEMTOP_REHEARSAL_UPPER"   // is there where sizes are the largest that they can be, see memtop/sizes.py
	SetVariable       = "MEMTOP_REHEARSAL_SET"     // values of lines, see memtop/given.py
)

// Rehearsed is what a process of a rehearsed program said of itself. Sizes are bytes.
type Rehearsed struct {
	PID     int
	PyTorch string // the release, "" where it was not imported
	CUDA    string // what PyTorch was built for, "" for a build without
	Begun   bool   // it used a device
	Rank    int
	Devices int
	Steps   int
	Seconds float64 // from the import of PyTorch to the last that was said
	Peaks   []Peak  // by device
	Refused int     // requests for which there was no memory
	Ended   string  // why: "steps", "settled", "waits", "unchanged" or "exit"; "" where it did not say
	Changed bool    // its changes held, and Peaks are of the time since then
	// Unchanged is why a change was refused, "" where it was not.
	Unchanged string
	Reads     []Read // of values that were not computed
	// Snapshots are the paths of PyTorch's own, of the whole time one after the other: a
	// program that records its memory itself begins a new one.
	Snapshots []string
	Failure   string // the path of the one of the last refused request
	Error     string // the exception that ended the program, with its line; "" for none
}

// Read is a line that reads values from the device.
type Read struct {
	Line   string `json:"line"` // "file.py:12"
	What   string `json:"what"` // its text
	Kind   string `json:"kind"` // "size", "integer", "condition", "number" or "values", see memtop/reads.py
	Count  int64  `json:"count"`
	Bytes  int64  `json:"bytes"`         // of the largest
	AtMost *int64 `json:"at_most_bytes"` // that an operation of the line returns, nil where that is not known
	Given  bool   `json:"given"`         // the user said what is read there
}

// Peak is the most that PyTorch's allocator had, in bytes.
type Peak struct{ Allocated, Reserved int64 }

// UnmarshalJSON reads a pair.
func (p *Peak) UnmarshalJSON(text []byte) error {
	var pair [2]int64
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	p.Allocated, p.Reserved = pair[0], pair[1]
	return nil
}

// said is a line of a process.
type said struct {
	Kind    string  `json:"kind"`
	PyTorch string  `json:"pytorch"`
	CUDA    string  `json:"cuda"`
	Rank    int     `json:"rank"`
	Devices int     `json:"devices"`
	Step    int     `json:"step"`
	Seconds float64 `json:"seconds"`
	Peaks   []Peak  `json:"peaks"`
	Reason  string  `json:"reason"`
	Reads   []Read  `json:"reads"`
	Error   string  `json:"error"`
}

// longestLine is that of what a process says, in bytes: what is longer, it has not said.
const longestLine = 64 << 10

// ReadRehearsed reads what the processes of a rehearsed program have said so far, those
// that use a device before the others and in the order of their ranks.
func ReadRehearsed(folder string) ([]Rehearsed, error) {
	paths, err := fs.Glob(os.DirFS(folder), "*.rehearsed")
	if err != nil {
		return nil, err
	}
	var all []Rehearsed
	for _, name := range paths {
		pid, err := strconv.Atoi(strings.TrimSuffix(name, ".rehearsed"))
		if err != nil {
			continue
		}
		r, err := readRehearsed(folder, pid)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Rehearsed) int {
		if a.Begun != b.Begun {
			if a.Begun {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.PID, b.PID))
	})
	return all, nil
}

func readRehearsed(folder string, pid int) (Rehearsed, error) {
	r := Rehearsed{PID: pid}
	file, err := os.Open(filepath.Join(folder, fmt.Sprintf("%d.rehearsed", pid)))
	if err != nil {
		return r, err
	}
	defer file.Close() // it was only read
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var s said
		if json.Unmarshal(lines.Bytes(), &s) == nil { // else it is being written
			r.take(&s)
		}
	}
	if r.Ended != "" { // else the last is perhaps not whole
		r.Snapshots, _ = filepath.Glob(filepath.Join(folder, fmt.Sprintf("%d.*.snapshot", pid)))
	}
	if failures, _ := filepath.Glob(filepath.Join(folder, fmt.Sprintf("%d-*.pickle", pid))); len(failures) > 0 {
		r.Failure = slices.Max(failures)
	}
	return r, lines.Err()
}

func (r *Rehearsed) take(s *said) {
	switch s.Kind {
	case "torch":
		r.PyTorch, r.CUDA = s.PyTorch, s.CUDA
		return
	case "failed":
		r.Error = s.Error
		return
	case "begin":
		r.Begun, r.Rank, r.Devices = true, s.Rank, s.Devices
		return
	case "refused":
		r.Refused++
	case "changed":
		r.Changed = true
	case "unchanged":
		r.Unchanged = s.Reason
	case "end":
		r.Ended, r.Reads = s.Reason, s.Reads
	}
	r.Steps, r.Seconds, r.Peaks = s.Step, s.Seconds, s.Peaks
}
