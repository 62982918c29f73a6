package rehearse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/probe/python"
	"github.com/memtop/memtop/probe/sensor"
	"github.com/memtop/memtop/snapshots/report"
)

// Tidies is the name under which memtop runs as a second process that waits for
// the end of a rehearsal, in whatever way it ends, and removes what is left.
const Tidies = "memtop-tidies"

// inductorCache is the environment variable of the folder where PyTorch keeps what it has compiled.
const inductorCache = "TORCHINDUCTOR_CACHE_DIR"

// stage is the place of a rehearsal: a folder of its own with the imitation, in
// which the processes write their reports. It is removed when the rehearsal ends.
type stage struct {
	folder string
	guard  func() error // ends the tidying process, which also ends with this process
	host   string       // the path of the socket of the programs' host, "" if they have none
	leave  func()       // ends the host
}

// newStage makes a stage. It starts the tidying process before it makes the
// folder, so that nothing is left however soon this process is killed.
func newStage() (*stage, error) {
	folder := filepath.Join(os.TempDir(), "memtop-rehearse-"+strconv.FormatUint(rand.Uint64(), 36))
	guard, err := startTidying(folder)
	if err != nil {
		return nil, fmt.Errorf("preparing the imitation: %w", err)
	}
	s := &stage{folder: folder, guard: guard, leave: func() {}}
	if err = os.Mkdir(folder, 0o700); err == nil {
		err = imitation.Install(s.library())
	}
	if err != nil {
		s.clear()
		return nil, fmt.Errorf("preparing the imitation: %w", err)
	}
	s.serve()
	return s, nil
}

// serve begins to show the programs to viewers. Without a safe folder for that, the
// rehearsal goes on without.
func (s *stage) serve() {
	h, err := sensor.Listen(protocol.Folder(), slog.New(slog.DiscardHandler))
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { _ = h.Serve(ctx); close(ended) }()
	s.host, s.leave = h.Path(), func() { cancel(); <-ended }
}

func (s *stage) library() string { return filepath.Join(s.folder, "library") }

// clear ends what still runs and removes the folder, as the tidying process does when it is left alone.
func (s *stage) clear() {
	s.leave()
	if s.guard() != nil { // it was killed
		tidy(s.folder)
	}
}

// environment returns the variables of the command.
func (s *stage) environment(agent string, t *trial, r *Rehearsal) []string {
	environ := imitation.Environment(python.Environment(configured(os.Environ(), t.with.conf), agent), s.library())
	if r.World > 0 {
		environ = append(
			environ, fmt.Sprintf("RANK=%d", t.rank), fmt.Sprintf("WORLD_SIZE=%d", r.World), fmt.Sprintf("LOCAL_RANK=%d", t.rank%r.Devices),
			fmt.Sprintf("LOCAL_WORLD_SIZE=%d", r.Devices), "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500", // which nobody asks
		)
	}
	// What Inductor has compiled before takes other memory than what it compiles. Code in a folder of this name is known
	// to be generated.
	if os.Getenv(inductorCache) == "" {
		environ = append(environ, inductorCache+"="+filepath.Join(s.folder, "torchinductor"))
	}
	return append(sensor.Environment(environ, s.host),
		imitation.GPUVariable+"="+t.gpu.Variable(r.Devices, t.endless),
		imitation.ReportVariable+"="+s.folder,
		s.told(t, r).Variable(),
	)
}

// told returns what the command is told.
func (s *stage) told(t *trial, r *Rehearsal) *python.Told {
	values := r.Values.name()
	if t.ones {
		values = ones
	}
	return &python.Told{
		Folder: s.folder, World: r.World, Steps: int(r.Steps), Survey: t.survey != nil, Edit: t.with.edit, Calls: append([]string{}, t.with.calls...),
		Values: values, Set: r.Values.Set, Again: t.again,
	}
}

// keep copies the snapshots to the user's path. For a job of one rank that is the
// path itself; for a job of several, each name has the rank's number.
func (s *stage) keep(found *report.Rehearsal, to output.File, several bool) error {
	kept := make(map[string]string)
	for i := range found.Ranks {
		on := &found.Ranks[i]
		from := on.Snapshot
		on.Snapshot = ""
		if to.Path == "" || from == "" {
			continue
		}
		if kept[from] == "" {
			file := to
			if several || found.Ranks[0].Rank != found.Ranks[len(found.Ranks)-1].Rank {
				extension := filepath.Ext(to.Path)
				file.Path = fmt.Sprintf("%s-rank%d%s", strings.TrimSuffix(to.Path, extension), on.Rank, extension)
			}
			if err := file.Write(func(w io.Writer) error { return copyFile(w, from) }); err != nil {
				return err
			}
			kept[from] = file.Path
		}
		on.Snapshot = kept[from]
	}
	return nil
}

func copyFile(w io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // it was only read
	_, err = io.Copy(w, file)
	return err
}

// startTidying starts a memtop that tidies a folder when this process has ended.
// It runs outside of this process's group, so a signal that ends this process
// does not end it.
func startTidying(folder string) (letGo func() error, err error) {
	cmd := exec.Command("/proc/self/exe", folder) //nolint:noctx // it ends with this process
	cmd.Args[0] = Tidies
	apart(cmd)
	ends, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() error { return errors.Join(ends.Close(), cmd.Wait()) }, nil
}

// TidyAfter waits until the other end of standard input is closed, and tidies.
func TidyAfter(folder string) int {
	_, _ = io.Copy(io.Discard, os.Stdin) // any end is an end
	tidy(folder)
	return 0
}
