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

// MostAnswer is how many bytes an answer may have: it has about 100 KiB, with the deepest
// stacks ten times that.
const MostAnswer = 8 << 20

// mostDevices is how many devices an answer may have.
const mostDevices = 1 << 8

// Answer is what memtop report --json printed of one rank, without what is only shown.
type Answer struct {
	*Place
	Schema   string           `json:"schema"`
	Source   Source           `json:"source"`
	Compared *Compared        `json:"compared"`
	Devices  []AnsweredDevice `json:"devices"`
	JSON     json.RawMessage  `json:"-"` // all that was printed
}

// AnsweredDevice is a [Device] of an answer.
type AnsweredDevice struct {
	Device        int      `json:"device"`
	PeakRequested int64    `json:"peak_requested_bytes"`
	Lines         []Line   `json:"lines_at_peak"`
	Measures      Measures `json:"measures"`
}

// ReadAnswer reads what memtop report --json printed of one snapshot. The error says what
// is wrong with it.
func ReadAnswer(text []byte) (*Answer, error) {
	a := &Answer{JSON: text}
	err := json.Unmarshal(text[:min(len(text), MostAnswer)], a)
	place := cmp.Or(a.Rank(), &trace.Rank{World: 1})
	switch place.World = cmp.Or(place.World, place.Rank+1); {
	case len(text) > MostAnswer:
		err = errors.New("it has more than " + quantity.Bytes(MostAnswer))
	case err != nil:
		err = errors.New(strings.TrimPrefix(err.Error(), "json: "))
	case a.Schema != Schema:
		err = fmt.Errorf("it has %.40q where %q should be", a.Schema, Schema)
	case !place.Valid():
		err = fmt.Errorf("it is of rank %d of %d", place.Rank, place.World)
	case a.Compared == nil:
		err = errors.New("no device has a segment or an event, or the memtop that printed it did not yet compare answers")
	case len(a.Devices) > mostDevices || !slices.ContainsFunc(a.Devices, a.compared) || slices.ContainsFunc(a.Devices, AnsweredDevice.unlike):
		err = errors.New("no report has such devices")
	}
	return a, err
}

func (a *Answer) compared(d AnsweredDevice) bool { return d.Device == a.Compared.Device }

// unlike reports whether no report has such a device.
func (d AnsweredDevice) unlike() bool {
	m := &d.Measures
	return m.Peak == nil || len(m.Peak.Sites) > gateSites || m.Growth != nil && len(m.Growth.Sites) > gateSites || len(d.Lines) > reportedLines
}

// Rank returns the rank that the answer is of, nil if it does not say.
func (a *Answer) Rank() *trace.Rank {
	if p := a.Place; p != nil {
		return (&trace.Rank{Job: p.Job, Rank: p.Rank, World: p.World, Local: p.Local, Launcher: p.Launcher}).Printable()
	}
	return nil
}

// Row returns the row of the rank.
func (a *Answer) Row(f *ranks.File) ranks.Row {
	row := a.Compared.Row
	row.AtPeak, row.Rank, row.Name = a.Compared.AtPeak.Bytes, f.Place, cmp.Or(a.Source.Path, f.Path)
	if d := &a.Devices[slices.IndexFunc(a.Devices, a.compared)]; !row.Measured {
		addLines(&row, d.PeakRequested, d.Lines)
	}
	return row
}

// OfRank returns the answer's JSON with its rank, which only its file's name may say.
func (a *Answer) OfRank(r *ranks.Row) json.RawMessage {
	_, rest, object := bytes.Cut(a.JSON, []byte("{"))
	if a.Place != nil || !object {
		return a.JSON
	}
	return fmt.Appendf(nil, `{"rank":%d,"local_rank":%d,%s`, r.Rank.Rank, r.Local, rest)
}

// Gate holds the rank to limits, as NewGate does its snapshot.
func (a *Answer) Gate(limits Limits) (*Gate, error) {
	devices := make([]gauged, len(a.Devices))
	for i := range a.Devices {
		devices[i] = gauged{a.Devices[i].Device, a.Devices[i].Measures}
	}
	return gateOf(devices, limits)
}
