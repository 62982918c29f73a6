package probe

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"memtop/snapshots/trace"
)

// Process is a program that can be attached to, or that should be and is not.
// Its texts are printable.
type Process struct {
	PID     int    // as this process counts
	Socket  string // the path that leads there from here
	User    string
	Command string
	Info    *Info // what the program says of itself; nil when Problem is not
	Problem error // why it cannot be attached to
}

// patience is how long a program may take to say what it is. One that is
// stopped never does.
const patience = time.Second

// asking is how many programs are asked at a time.
const asking = 16

// Discover returns the programs of this user that have a probe, those of all
// users for root, ordered by process. Programs in other PID and mount
// namespaces are found where /proc leads to them. Sockets that nobody listens
// on any more are left out; programs that do not answer, or that must not be
// trusted, are in the list with their problem.
func Discover(ctx context.Context) ([]Process, error) {
	all, err := endpoints(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]*Process, len(all))
	slots := make(chan struct{}, asking) // never closed
	var asked sync.WaitGroup
	for i, e := range all {
		asked.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i] = e.ask(ctx)
		})
	}
	asked.Wait()
	var processes []Process
	for _, p := range found {
		if p != nil {
			processes = append(processes, *p)
		}
	}
	slices.SortFunc(processes, func(a, b Process) int { return a.PID - b.PID })
	return processes, ctx.Err()
}

// ask finds out what listens at e; nil means that nobody does.
func (e endpoint) ask(ctx context.Context) *Process {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p := &Process{PID: e.pid, Socket: trace.Printable(e.path()), User: userOf(e.uid), Command: commandOf(e.pid)}
	p.Info, p.Problem = e.info(ctx)
	if isStale(p.Problem) {
		return nil
	}
	if p.Command == "" && p.Info != nil {
		p.Command = trace.Printable(p.Info.Command)
	}
	return p
}

// endpoint is a socket, and the process that should be listening on it.
type endpoint struct {
	pid    int    // as this process counts; 0 when nothing says
	uid    int    // of the process, or else of the socket
	root   string // what is / for the process
	folder string // where it is, from there
	name   string // the file in it
	given  bool   // the user named it, so others may see into the folder
}

// String names the process, or the socket where only that is known.
func (e endpoint) String() string {
	if e.pid == 0 {
		return "the program at " + trace.Printable(e.path())
	}
	return "process " + strconv.Itoa(e.pid)
}

// path returns where the socket is for this process.
func (e endpoint) path() string { return filepath.Join(e.root, e.folder, e.name) }

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
		folderOf(getenv("MEMTOP_DIR"), getenv("XDG_RUNTIME_DIR"), temporary, uid),
		folderOf("", getenv("XDG_RUNTIME_DIR"), temporary, uid),
		folderOf("", "", temporary, uid),
		folderOf("", "", "/tmp", uid),
	}
	folders = slices.DeleteFunc(folders, func(f string) bool { return !filepath.IsAbs(f) })
	return slices.Compact(folders)
}

// Folder returns where this process would have its socket, and where programs
// of this user are looked for when nothing else is known of them.
func Folder() string { return folder() }

// listFolder returns the sockets in the folder that this process would use
// itself.
func listFolder() []endpoint {
	path, err := filepath.Abs(folder())
	if err != nil {
		return nil
	}
	names, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var found []endpoint
	for _, name := range names {
		if pid, _, ok := parseSocketName(name.Name()); ok {
			found = append(found, endpoint{pid: pid, uid: os.Geteuid(), root: "/", folder: path, name: name.Name()})
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
