package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// Process is a program that can be attached to, or a socket that is there and
// cannot be. Its texts are printable.
type Process struct {
	Host    string // the machine that it is on, "" for this one
	PID     int    // as the machine counts; 0 for a socket of no process that runs
	Socket  string // the path that leads there from here
	User    string
	Command string
	Info    *protocol.Info // what the program says of itself; nil when Problem is not
	Problem error          // why it cannot be attached to
}

// Patience is how long programs may take to say what they are, all together.
// One that is stopped never does.
const Patience = 3 * time.Second

// asking is how many programs are asked at a time.
const asking = 256

// Discover returns the programs of this user that have a probe, those of all
// users for root, ordered by process. Programs in other PID and mount
// namespaces are found where /proc leads to them. Those that do not answer
// within [Patience], or until ctx is done, or that must not be trusted, are
// in the list with their problem; and so are sockets that ended programs left
// behind, each with a [*NoProbeError], and folders of users that this one may
// not look into, each with a [*ForeignError].
func Discover(ctx context.Context) ([]Process, error) { return Here.Discover(ctx) }

func discover(ctx context.Context) ([]Process, error) {
	found, err := survey(ctx)
	if err != nil {
		return nil, err
	}
	processes := make([]Process, len(found))
	for i := range found {
		processes[i] = found[i].process
	}
	return processes, nil
}

// finding is a socket and what came of asking there.
type finding struct {
	endpoint endpoint
	process  Process
}

// survey looks for sockets and asks all of them.
func survey(ctx context.Context) ([]finding, error) {
	all, err := sightings(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	found := askAll(limited, all)
	slices.SortStableFunc(found, func(a, b finding) int { return a.process.PID - b.process.PID })
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	return found, nil
}

// sighting is a socket, and why it cannot be used if so.
type sighting struct {
	endpoint
	problem error
}

// askAll finds out what listens at each. Sockets that have gone meanwhile are
// left out.
func askAll(ctx context.Context, all []sighting) []finding {
	found := make([]finding, len(all))
	slots := make(chan struct{}, asking) // never closed
	var asked sync.WaitGroup
	for i, s := range all {
		asked.Go(func() {
			found[i] = finding{s.endpoint, s.process()}
			found[i].process.Info, found[i].process.Problem = s.ask(ctx, slots)
		})
	}
	asked.Wait()
	for i := range found {
		if p := &found[i].process; p.Command == "" && p.Info != nil {
			p.Command = trace.Printable(p.Info.Command)
		}
	}
	return slices.DeleteFunc(found, func(f finding) bool { return errors.As(f.process.Problem, new(*NotFoundError)) })
}

// ask has the program say what it is, when there is a slot for it.
func (s sighting) ask(ctx context.Context, slots chan struct{}) (*protocol.Info, error) {
	if s.problem != nil {
		return nil, s.problem
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		return s.info(ctx)
	case <-ctx.Done():
		return nil, fmt.Errorf("%v was not asked: %d others do not answer", s.endpoint, asking)
	}
}

// endpoint is a socket, and the process that should be listening on it.
type endpoint struct {
	pid    int    // as this process counts; 0 when nothing says
	uid    int    // of the process, or else of the socket
	root   string // what is / for the process
	folder string // where it is, from there
	name   string // the file in it
	given  bool   // the user named it, so others may see into the folder

	far   Far     // leads to its machine, nil when that is this one
	there Process // what far says that it is
}

// String names the process, or the socket where only that is known.
func (e endpoint) String() string {
	if e.pid == 0 {
		return "the program at " + trace.Printable(e.path())
	}
	return "process " + strconv.Itoa(e.pid) + e.onHost()
}

// path returns where the socket is for this process.
func (e endpoint) path() string {
	if e.far != nil {
		return e.there.Socket
	}
	return filepath.Join(e.root, e.folder, e.name)
}

// mayAttach reports whether this process may attach to those of a user.
func mayAttach(uid int) bool { return os.Geteuid() <= 0 || uid == os.Geteuid() }

// foldersFor returns where a program with that environment and user may have
// its socket, the most likely first.
func foldersFor(getenv func(string) string, uid int) []string {
	temporary := getenv("TMPDIR")
	if temporary == "" {
		temporary = "/tmp"
	}
	folders := []string{
		protocol.FolderOf(getenv("MEMTOP_DIR"), getenv("XDG_RUNTIME_DIR"), temporary, uid),
		protocol.FolderOf("", getenv("XDG_RUNTIME_DIR"), temporary, uid),
		protocol.FolderOf("", "", temporary, uid),
		protocol.FolderOf("", "", "/tmp", uid),
	}
	folders = slices.DeleteFunc(folders, func(f string) bool { return !filepath.IsAbs(f) })
	return slices.Compact(folders)
}

// listFolder returns the sockets in the folder that this process would use
// itself.
func listFolder() []sighting {
	path, err := filepath.Abs(protocol.Folder())
	if err != nil {
		return nil
	}
	names, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var found []sighting
	for _, name := range names {
		if pid, _, ok := protocol.ParseSocketName(name.Name()); ok {
			e := endpoint{pid: pid, uid: os.Geteuid(), root: "/", folder: path, name: name.Name()}
			found = append(found, sighting{e, e.check()})
		}
	}
	return found
}

// foreignFolders returns where programs of other users may have their sockets,
// as far as it can be seen from here.
func foreignFolders() []sighting {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return nil
	}
	var found []sighting
	for _, entry := range entries {
		number, ok := strings.CutPrefix(entry.Name(), protocol.TemporaryFolder)
		uid, err := strconv.Atoi(number)
		if ok && err == nil && entry.IsDir() && !mayAttach(uid) {
			e := endpoint{uid: uid, root: "/", folder: filepath.Join(os.TempDir(), entry.Name())}
			found = append(found, sighting{e, &ForeignError{User: userOf(uid)}})
		}
	}
	return found
}

// userOf returns the name of a user, or else the number.
func userOf(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return trace.Printable(u.Username)
	}
	return id
}
