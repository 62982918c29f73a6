package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// deadSchema is the version of the answers that this program reads.
const deadSchema = "memtop.dead/1"

// mostAnswer bounds the bytes of an answer; the agent writes about ten thousand.
const mostAnswer = 1 << 20

// Dead is one device of an ended program that left a snapshot or a black box, in
// the JSON of ls --dead; or an unusable file, with its problem. Unknown values
// are null.
type Dead struct {
	PID       int    `json:"pid"`
	Command   string `json:"command"`
	Host      string `json:"host"`
	Time      int64  `json:"time_us"` // since 1970
	Step      int64  `json:"step"`    // how many had ended
	Device    int    `json:"device"`
	Ended     string `json:"ended"` // how
	Allocated *int64 `json:"allocated_bytes"`
	Reserved  *int64 `json:"reserved_bytes"`
	Asked     *int64 `json:"asked_bytes"` // by the request that failed
	Short     *int64 `json:"short_bytes"` // how much the driver lacked
	File      string `json:"file"`        // its path
	Problem   string `json:"problem,omitempty"`
}

// ReadDead reads the answers in a folder. A missing folder has none.
func ReadDead(folder string) ([]Dead, error) {
	rows := []Dead{} // not null in JSON
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if path := filepath.Join(folder, entry.Name()); strings.HasSuffix(path, ".json") {
			d, err := readDied(path)
			if err != nil {
				d = Dead{File: strings.TrimSuffix(path, ".json") + ".pickle", Problem: path + ": " + err.Error()}
			}
			rows = append(rows, d)
		}
	}
	return rows, nil
}

// readDied reads an answer, and checks that its snapshot exists.
func readDied(path string) (Dead, error) {
	file, err := openRegular(path)
	if err != nil {
		return Dead{}, err
	}
	defer file.Close() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, mostAnswer))
	if err != nil {
		return Dead{}, err
	}
	var answer struct {
		Schema   string         `json:"schema"`
		Snapshot string         `json:"snapshot"` // the name of a file beside it
		Free     *int64         `json:"free_bytes"`
		Settings map[string]any `json:"allocator_settings"`
		Dead
	}
	if json.Unmarshal(data, &answer) != nil || answer.Schema != deadSchema {
		return Dead{}, fmt.Errorf("this is no %s", deadSchema)
	}
	d := answer.Dead
	name := filepath.Base(answer.Snapshot)
	if name != answer.Snapshot || d.Problem != "" {
		return Dead{}, fmt.Errorf("this is no %s", deadSchema)
	}
	if answer.Free != nil && d.Asked != nil {
		d.Short = new(max(0, driverRequest(*d.Asked, answer.Settings)-*answer.Free))
	}
	d.Ended, d.File = "out of memory", filepath.Join(filepath.Dir(path), name)
	if _, err := os.Stat(d.File); err != nil {
		return Dead{}, errors.New("its snapshot is not there")
	}
	return d, nil
}

// driverRequest returns how many bytes the driver was asked for in place of a segment: an
// expandable one grows by pages.
func driverRequest(segment int64, settings map[string]any) int64 {
	list := make([]trace.Setting, 0, len(settings))
	for key, value := range settings {
		list = append(list, trace.Setting{Key: key, Value: value})
	}
	g := trace.NewGeometry(list)
	if !g.Expandable || segment >= trace.MaxRequest {
		return segment
	}
	page := g.Page(segment <= trace.SmallSegment)
	return (segment + page - 1) / page * page
}

// openRegular opens a regular file: reading any other kind may block.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("this is no regular file")
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// OfBox returns what the black box of an ended program says about one device. The
// event is the last one of that device.
func OfBox(t *trace.Trace, b protocol.Box, last trace.LastEvent) Dead {
	d := Dead{
		PID: t.Live.PID, Command: t.Live.Command, Time: max(last.Time, b.Alive.UnixMicro()), Device: last.Device, Ended: "killed or crashed",
		Reserved: known(last.Reserved), File: b.Path,
	}
	switch g := t.LastOfHost(); {
	case t.Live.Ended.Goodbye != "":
		d.Ended = "out of memory"
	case killedByKernel(d.PID, time.UnixMicro(d.Time)):
		d.Ended = "out of host memory"
	case g != nil && spent(g):
		d.Ended = "killed, host memory full"
	}
	if step := t.LastStep(last.Device); step != nil {
		d.Step = step.Number
	}
	switch device := t.Device(last.Device); {
	case last.Looked != 0: // the state is older than the sums
		d.Allocated = known(last.Requested)
	case device != nil && last.Lost == 0:
		d.Allocated = new(handedOut(&device.Final))
	}
	return d
}

// spent reports whether the host's memory was used up.
func spent(g *trace.Gauge) bool {
	limit, known := g.Nearest()
	return known && limit.Spent()
}

// known returns a number of a program's last event, nil if it is not known.
func known(bytes int64) *int64 {
	if bytes == trace.Unknown {
		return nil
	}
	return &bytes
}

// handedOut adds up the blocks that are allocated and not freed.
func handedOut(s *trace.State) (bytes int64) {
	for i := range s.Segments {
		for j := range s.Segments[i].Blocks {
			if b := &s.Segments[i].Blocks[j]; b.State == trace.Allocated {
				bytes += b.Size
			}
		}
	}
	return bytes
}
