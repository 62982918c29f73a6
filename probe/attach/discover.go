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

// Process is a program to which the user can attach, or a socket that cannot be
// used. Its texts are printable.
type Process struct {
	Host    string // its machine, "" for this one
	PID     int    // in the machine's namespace; 0 for a socket without a running process
	Socket  string // the path as seen from this process
	User    string
	Command string
	Info    *protocol.Info // the program's own description; nil if Problem is set
	Problem error          // why the user cannot attach to it
}

// Patience is how long all programs together may take to describe themselves. A
// stopped program never answers.
const Patience = 3 * time.Second

// asking is how many programs discovery asks at a time.
const asking = 256

// Discover returns this user's programs that have a probe, or for root those of
// all users, ordered by process. It finds programs in other PID and mount
// namespaces through /proc. Programs that do not answer within [Patience], or
// until ctx is done, and programs that must not be trusted, are in the list with
// their problem. So are sockets that ended programs left behind, each with a
// [*NoProbeError], and folders of other users that this user may not read, each
// with a [*ForeignError].
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

// finding is a socket and the result of asking its program.
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

// sighting is a socket, and the reason if it cannot be used.
type sighting struct {
	endpoint
	problem error
}

// askAll asks the program at each socket. It leaves out sockets that have gone
// meanwhile.
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

// ask waits for a slot, then asks the program to describe itself.
func (s sighting) ask(ctx context.Context, slots chan struct{}) (*protocol.Info, error) {
	if s.problem != nil {
		return nil, s.problem
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // those that had the slots give them back when time is up
		return nil, fmt.Errorf("%v was not asked: %d others do not answer", s.endpoint, asking)
	}
	return s.info(ctx)
}

// endpoint is a socket, and the process that should be listening on it.
type endpoint struct {
	pid    int    // in this process's namespace; 0 when unknown
	uid    int    // the user of the process, or else of the socket
	root   string // the root directory of the process
	folder string // its folder, as seen from root
	name   string // the file name in folder
	given  bool   // the user gave its path, so others may read the folder

	far   Far     // leads to its machine, nil for this machine
	there Process // the process as far describes it
}

// String names the process, or the socket if only that is known.
func (e endpoint) String() string {
	if e.pid == 0 {
		return "the program at " + trace.Printable(e.path())
	}
	return "process " + strconv.Itoa(e.pid) + e.onHost()
}

// path returns the socket's path as seen from this process.
func (e endpoint) path() string {
	if e.far != nil {
		return e.there.Socket
	}
	return filepath.Join(e.root, e.folder, e.name)
}

// mayAttach reports whether this process may attach to processes of a user.
func mayAttach(uid int) bool { return os.Geteuid() <= 0 || uid == os.Geteuid() }

// foldersFor returns the folders in which a program with that environment and
// user may have its socket, the most likely first.
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

// foreignFolders returns the folders in which other users' programs may have
// their sockets, as far as this user can see them.
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
			found = append(found, sighting{e, &ForeignError{User: UserName(uid)}})
		}
	}
	return found
}

// UserName returns the name of a user, or the number if the name is unknown.
func UserName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return trace.Printable(u.Username)
	}
	return id
}
