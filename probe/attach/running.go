package attach

// Running is what the system says of a process that one wants to go into, without
// the process itself being touched.
type Running struct {
	PID        int
	Inside     int      // the pid that it has for itself
	Owner      string   // the user's name, printable
	Command    string   // printable
	User       int      // effective, as this process counts
	Root       string   // what is / for it, from here
	Arguments  []string // its command line, one at least
	Maps       string   // the names of the files that it has mapped, a line each
	Executable string   // the file that it runs, as it sees it; "" when that may not be known
	Folders    []string // where it would put its socket, as it sees them, the most likely first
	Tracer     int      // the pid of its debugger, 0 without one
	Stopped    bool     // by a signal
}
