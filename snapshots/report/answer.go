package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Answers
//
// The snapshots of a thousand ranks are not copied to one machine. `memtop report --json`
// reads each where it lies, and what it printed, a thousandth of it, is compared here.

// MostAnswer is how many bytes an answer may have: one of a rank has about 100 KiB, with
// the deepest stacks ten times that.
const MostAnswer = 32 << 20

// The most of what an answer may have of a kind. A report has no more.
const (
	mostAnswers  = 1 << 16 // ranks in one file
	mostDevices  = 1 << 10
	mostSettings = 1 << 10
	mostNumber   = 1 << 52 // so that the sum of all lines does not overflow
)

// Answer is what memtop report --json printed of one rank.
type Answer struct {
	Place     *trace.Rank // the rank that it says, nil if it says none
	Host      string
	Path      string          // of the snapshot, where that lies
	Kind      string          // of the snapshot
	Truncated bool            // the snapshot ends early
	Problem   string          // why the snapshot was not read, "" if it was
	JSON      json.RawMessage // all of it
	row       *Compared
	devices   []answeredDevice
}

// answered is the JSON form of an answer, without what is only shown.
type answered struct {
	Schema   string `json:"schema"`
	Rank     *int   `json:"rank"`
	World    int    `json:"world"`
	Local    int    `json:"local_rank"`
	Job      string `json:"job"`
	Launcher string `json:"launcher"`
	Host     string `json:"host"`
	Source   struct {
		Path      string `json:"path"`
		Kind      string `json:"kind"`
		Truncated bool   `json:"truncated"`
	} `json:"source"`
	Compared *Compared        `json:"compared"`
	Devices  []answeredDevice `json:"devices"`

	Path    string            `json:"path"`    // of a [Lost]
	Problem string            `json:"problem"` // the same
	Ranks   []json.RawMessage `json:"ranks"`   // of [Ranks]
}

type answeredDevice struct {
	Device        int      `json:"device"`
	PeakRequested int64    `json:"peak_requested_bytes"`
	Lines         []Line   `json:"lines_at_peak"`
	Measures      Measures `json:"measures"`
}

// ReadAnswers reads what memtop report --json printed of a snapshot, or of the ranks of a
// job. The error says what is wrong with it.
func ReadAnswers(text []byte) ([]Answer, error) {
	var j answered
	if err := j.decode(text); err != nil {
		return nil, err
	}
	if j.Schema != RanksSchema {
		one, err := j.answer(text)
		return []Answer{one}, err
	}
	if len(j.Ranks) > mostAnswers {
		return nil, fmt.Errorf("it has %s, more than %d", quantity.Plural(len(j.Ranks), "rank"), mostAnswers)
	}
	all := make([]Answer, len(j.Ranks))
	for i, text := range j.Ranks {
		var j answered
		err := j.decode(text)
		if err == nil {
			all[i], err = j.answer(text)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// decode says where JSON ceases to be what it should be.
func (j *answered) decode(text []byte) error {
	err := json.Unmarshal(text, j)
	if at := (*json.SyntaxError)(nil); errors.As(err, &at) {
		return fmt.Errorf("byte %d: %w", at.Offset, err)
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func (j *answered) answer(text json.RawMessage) (a Answer, err error) {
	if j.Problem == "" && j.Schema != Schema {
		return a, fmt.Errorf("it has %q where %q should be", j.Schema, Schema)
	}
	if err := j.check(); err != nil {
		return a, err
	}
	a = Answer{Host: j.Host, Path: cmp.Or(j.Source.Path, j.Path), Kind: j.Source.Kind, Truncated: j.Source.Truncated, Problem: j.Problem, JSON: text, row: j.Compared, devices: j.Devices}
	if j.Rank != nil {
		a.Place = (&trace.Rank{Job: j.Job, Rank: *j.Rank, World: j.World, Local: j.Local, Launcher: j.Launcher}).Printable()
	}
	return a, nil
}

// check refuses what no report has.
func (j *answered) check() error {
	if j.Rank != nil {
		place := trace.Rank{Rank: *j.Rank, World: j.World, Local: j.Local}
		if j.World == 0 { // by its file's name
			place.World = place.Rank + 1
		}
		if !place.Valid() {
			return fmt.Errorf("it is of rank %d of %d", *j.Rank, j.World)
		}
	}
	if j.Problem != "" {
		return nil
	}
	if len(j.Devices) > mostDevices {
		return fmt.Errorf("it has %s, more than %d", quantity.Plural(len(j.Devices), "device"), mostDevices)
	}
	if j.Compared == nil {
		if len(j.Devices) == 0 {
			return errors.New("no device has a segment or an event")
		}
		return errors.New("it is of a memtop that did not yet say by what ranks are compared")
	}
	found := false
	for i := range j.Devices {
		d := &j.Devices[i]
		found = found || d.Device == j.Compared.Device
		if d.Measures.Peak == nil || len(d.Lines) > reportedLines || !d.inRange() {
			return fmt.Errorf("device %d has numbers that no report has", d.Device)
		}
	}
	if c := j.Compared; !found || len(c.Settings) > mostSettings || !inRange(append(c.AtPeak.Bytes[:], c.Step, c.StepDuration, c.Allocated, c.Reserved,
		c.PeakAllocated, c.PeakReserved, c.Capacity, c.Others, c.Growth, c.OutOfMemory, c.FailedAt)...) {
		return errors.New("its numbers are none that a report has")
	}
	return nil
}

func (d *answeredDevice) inRange() bool {
	numbers := []int64{d.PeakRequested, d.Measures.Peak.RequestedBytes}
	for i := range d.Lines {
		numbers = append(numbers, d.Lines[i].Bytes)
	}
	sites := d.Measures.Peak.Sites
	if g := d.Measures.Growth; g != nil {
		numbers, sites = append(numbers, g.BytesPerStep), append(sites, g.Sites...)
	}
	if h := d.Measures.Host; h != nil {
		numbers = append(numbers, h.BytesPerStep)
	}
	for i := range sites {
		numbers = append(numbers, sites[i].Bytes, sites[i].BytesPerStep)
	}
	return inRange(numbers...) && len(sites) <= 2*gateSites
}

func inRange(numbers ...int64) bool {
	for _, n := range numbers {
		if n > mostNumber || n < -mostNumber {
			return false
		}
	}
	return true
}

// Only reports whether the answer is of one device alone.
func (a *Answer) Only(device int) bool { return len(a.devices) == 1 && a.devices[0].Device == device }

// OfRank returns the answer's JSON with the rank in it.
func (a *Answer) OfRank(r *ranks.Row) (json.RawMessage, error) {
	if a.Place != nil {
		return a.JSON, nil
	}
	place, err := json.Marshal(placeOf(r))
	if err != nil {
		return nil, err
	}
	return slices.Concat(place[:len(place)-1], []byte(","), bytes.TrimLeft(a.JSON, " \t\r\n")[1:]), nil
}

// Row returns the row of the rank.
func (a *Answer) Row(f *ranks.File) ranks.Row {
	row := a.row.Row
	row.AtPeak, row.Rank, row.Host, row.Name = a.row.AtPeak.Bytes, f.Place, a.Host, a.Path
	for i := range a.devices {
		if d := &a.devices[i]; d.Device == row.Device {
			addLines(&row, d.PeakRequested, d.Lines)
		}
	}
	return row
}

// Gate holds the rank to limits, as NewGate does its snapshot.
func (a *Answer) Gate(limits Limits) (*Gate, error) {
	devices := make([]gauged, len(a.devices))
	for i := range a.devices {
		devices[i] = gauged{a.devices[i].Device, nil, a.devices[i].Measures}
	}
	return gateOf(devices, limits)
}
