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

// RehearsalVariable is the environment variable of a rehearsed program with what it is
// told, see memtop/rehearsal/imitated.py.
const RehearsalVariable = "MEMTOP_REHEARSAL"

// Told is what a rehearsed program is told, as JSON.
type Told struct {
	Folder string   `json:"folder"`    // in which its processes report
	World  int      `json:"world"`     // ranks of the imitated job, one of which runs; 0 if all do
	Steps  int      `json:"steps"`     // the step after which it ends, 0 for when its peak no longer grows, −1 for its own end
	Survey bool     `json:"survey"`    // it reports what an edit may name
	Edit   *Edit    `json:"edit"`      // nil for none
	Calls  []string `json:"arguments"` // that calls of PyTorch's get, see memtop/rehearsal/call_arguments.py
	Values string   `json:"values"`    // what it reads where nothing computes values: zeros, upper or ones
	Set    []string `json:"set"`       // values that lines read: FILE:LINE=VALUE
	Again  bool     `json:"again"`     // in runs after the first, which leave the program's own snapshots as they are
}

// Variable returns it for the environment.
func (t *Told) Variable() string {
	text, _ := json.Marshal(t) // it has texts and numbers only
	return RehearsalVariable + "=" + string(text)
}

// Edit is lines for a program, which stand before one of its own.
type Edit struct {
	File string `json:"file"`
	Line int    `json:"line"` // before which they stand
	Text string `json:"text"` // not indented
}

// Model is what an edit of a program may name, as a step showed it.
type Model struct {
	File          string   `json:"file"`
	Line          int      `json:"line"`           // which makes the optimizer
	Expression    string   `json:"expression"`     // for the optimized module there
	Blocks        []Block  `json:"blocks"`         // in the order of the forward pass
	Norms         bool     `json:"norms"`          // blocks have layers that count running statistics
	Kept          []string `json:"kept"`           // modules of the same classes that are no such blocks
	Fused         string   `json:"fused"`          // the class of the optimizer, if it has a fused form
	Switch        *string  `json:"switch"`         // the module with a switch of its own for recomputation, nil for none
	OneByOne      bool     `json:"one_by_one"`     // that switch can be set for each block
	Trained       []string `json:"trained"`        // modules whose forward passes were trained
	NotRecomputed string   `json:"not_recomputed"` // why no block may be recomputed, "" if some may
	NotAutocast   string   `json:"not_autocast"`   // why there is no use for autocast, "" if there is
}

// Block is a part of a model that can be recomputed.
type Block struct {
	Name  string `json:"name"`
	Frees int64  `json:"frees_bytes"` // that it saves for the backward pass
}

// Rehearsed is the report of one process of a rehearsed program. Sizes are bytes.
type Rehearsed struct {
	PID     int
	PyTorch string // the release, "" if it was not imported
	CUDA    string // the version PyTorch was built for, "" for a build without CUDA
	Begun   bool   // it used a device
	Rank    int
	Devices int
	Steps   int
	Seconds float64 // from the import of PyTorch to the last report
	Peaks   []Peak  // by device
	Host    Host
	Refused int   // requests that failed for lack of memory
	Asked   int64 // bytes of the last of them
	// Handling is a line whose lack of memory was handled when another request failed, "" for none.
	Handling string
	WentOn   bool   // it caught that, and made steps afterwards
	Ended    string // the reason: "steps", "settled", "waits" or "exit"; "" if it gave none
	Changed  bool   // its changes took effect
	Model    *Model // nil if it was not surveyed
	Reads    []Read // of values that nothing computed
	Passed   string // the line that most often hands a tensor to another stream, "" if none is known
	// Snapshots are the paths of PyTorch's snapshots, which follow each other in time: a program
	// that records its memory itself begins a new one.
	Snapshots []string
	Failure   string // the path of the snapshot of the last failed request
	Error     string // the exception that ended the program, with its line; "" if none did
}

// Read is a line that reads values from the device.
type Read struct {
	Line   string `json:"line"` // "file.py:12"
	What   string `json:"what"` // the text of the line
	Kind   string `json:"kind"` // "size", "integer", "condition", "number" or "values", see memtop/rehearsal/device_reads.py
	Count  int64  `json:"count"`
	Bytes  int64  `json:"bytes"`         // of the largest read
	AtMost *int64 `json:"at_most_bytes"` // returned by an operation of the line, nil if not known
	Given  bool   `json:"given"`         // the user set the value
}

// Peak is the largest amount of memory that PyTorch's allocator had, in bytes.
type Peak struct{ Allocated, Reserved int64 }

// UnmarshalJSON reads it from a pair of numbers.
func (p *Peak) UnmarshalJSON(text []byte) error {
	var pair [2]int64
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	p.Allocated, p.Reserved = pair[0], pair[1]
	return nil
}

// Host is what a process has of the machine's memory, in bytes. PyTorch before 2.7 does not count pinned memory.
type Host struct {
	Resident int64 `json:"resident"` // at most, as the kernel counts; of pinned memory what was written
	Pinned   int64 `json:"pinned"`   // that PyTorch's pool had at most
	Used     int64 `json:"used"`     // of the pool, at most
	Rounding int64 `json:"rounding"` // of what was used then, that no tensor had asked for; before PyTorch 2.9 not known
}

// said is a line of a process's report.
type said struct {
	Kind     string  `json:"kind"`
	PyTorch  string  `json:"pytorch"`
	CUDA     string  `json:"cuda"`
	Rank     int     `json:"rank"`
	Devices  int     `json:"devices"`
	Step     int     `json:"step"`
	Seconds  float64 `json:"seconds"`
	Peaks    []Peak  `json:"peaks"`
	Host     Host    `json:"host"`
	Asked    int64   `json:"asked"`
	Reason   string  `json:"reason"`
	Reads    []Read  `json:"reads"`
	Passed   string  `json:"passed"`
	Error    string  `json:"error"`
	Handling string  `json:"handling"`
	Model
}

// longestLine is the longest line that is read, in bytes: thirty times what memtop/rehearsal/device_reads.py can write.
const longestLine = 16 << 20

// ReadRehearsed reads the reports so far of a rehearsed program's processes: those that use a
// device come first, in the order of their ranks; of the others, those that were started
// come before what started them.
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
		switch {
		case a.Begun && b.Begun:
			return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.PID, b.PID))
		case !a.Begun && !b.Begun:
			return cmp.Compare(b.PID, a.PID)
		case a.Begun:
			return -1
		}
		return 1
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
		if json.Unmarshal(lines.Bytes(), &s) == nil { // otherwise it is still being written
			r.take(&s)
		}
	}
	if r.Ended != "" { // otherwise the last one may be incomplete
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
		r.Refused, r.Asked, r.WentOn = r.Refused+1, s.Asked, false
		r.Handling = cmp.Or(r.Handling, s.Handling)
	case "step":
		r.WentOn = r.Refused > 0
	case "model":
		r.Model = &s.Model
		return
	case "changed":
		r.Changed = true
		return
	case "end":
		r.Ended, r.Reads, r.Passed = s.Reason, s.Reads, s.Passed
	}
	r.Steps, r.Seconds, r.Peaks, r.Host = s.Step, s.Seconds, s.Peaks, s.Host
}
