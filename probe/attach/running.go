package attach

// Running describes a process before an injection, from what the system knows. It
// does not touch the process itself.
type Running struct {
	PID        int
	Inside     int      // the pid that the process itself sees
	Owner      string   // the user's name, printable
	Command    string   // printable
	User       int      // effective, in this process's namespace
	Root       string   // its root directory, as seen from here
	Arguments  []string // its command line, at least one word
	Maps       string   // the names of the files that it has mapped, a line each
	Executable string   // the file that it runs, as it sees it; "" if this user may not know
	Folders    []string // where it may put its socket, as it sees them, the most likely first
	Tracer     int      // the pid of its debugger, 0 without one
	Stopped    bool     // by a signal
}
