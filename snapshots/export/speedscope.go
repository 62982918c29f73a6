package export

import (
	"encoding/json"
	"io"

	"github.com/memtop/memtop/snapshots/trace"
)

// Speedscope
//
// The JSON of speedscope.app: a table of frames, and for each device a profile
// of samples, each a stack from the program's entry inwards with a weight in
// bytes.

type speedscopeFile struct {
	Schema   string              `json:"$schema"`
	Name     string              `json:"name"`
	Exporter string              `json:"exporter"`
	Active   int                 `json:"activeProfileIndex"`
	Shared   speedscopeShared    `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
}

type speedscopeShared struct {
	Frames []speedscopeFrame `json:"frames"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int32  `json:"line,omitempty"`
}

type speedscopeProfile struct {
	Type    string  `json:"type"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Start   int64   `json:"startValue"`
	End     int64   `json:"endValue"`
	Samples [][]int `json:"samples"`
	Weights []int64 `json:"weights"`
}

func writeSpeedscope(w io.Writer, t *trace.Trace, o Options) error {
	snapshots, err := o.snapshots(o.indexes(t))
	if err != nil {
		return err
	}
	frames := speedscopeFrames{tables: t.Tables, numbers: make(map[speedscopeFrame]int)}
	file := speedscopeFile{
		Schema: "https://www.speedscope.app/file-format-schema.json", Name: sourceName(t), Exporter: "memtop",
		Profiles: make([]speedscopeProfile, 0, len(snapshots)),
	}
	for i, s := range snapshots {
		file.Profiles = append(file.Profiles, frames.profile(s, o.AllFrames))
		if file.Profiles[i].End > file.Profiles[file.Active].End {
			file.Active = i
		}
	}
	file.Shared.Frames = append([]speedscopeFrame{}, frames.list...)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(&file)
}

// speedscopeFrames numbers the frames of all profiles.
type speedscopeFrames struct {
	tables  *trace.Tables
	list    []speedscopeFrame
	numbers map[speedscopeFrame]int
}

func (f *speedscopeFrames) profile(s snapshot, all bool) speedscopeProfile {
	p := speedscopeProfile{
		Type: "sampled", Unit: "bytes", Name: deviceName(s.index) + ": " + s.title(),
		Samples: make([][]int, 0), Weights: make([]int64, 0),
	}
	for _, sample := range s.samples(false) {
		var stack []int
		frames := framesOf(s.index, sample.stack, all)
		for i := len(frames) - 1; i >= 0; i-- {
			stack = append(stack, f.number(f.frame(frames[i])))
		}
		if len(frames) == 0 {
			stack = append(stack, f.number(speedscopeFrame{Name: sample.named()}))
		}
		p.Samples, p.Weights = append(p.Samples, stack), append(p.Weights, sample.bytes)
		p.End += sample.bytes
	}
	return p
}

func (f *speedscopeFrames) frame(id trace.FrameID) speedscopeFrame {
	frame := f.tables.Frames[id]
	return speedscopeFrame{functionName(f.tables, id), label(f.tables.String(frame.File)), max(frame.Line, 0)}
}

func (f *speedscopeFrames) number(frame speedscopeFrame) int {
	n, ok := f.numbers[frame]
	if !ok {
		n = len(f.list)
		f.numbers[frame] = n
		f.list = append(f.list, frame)
	}
	return n
}
