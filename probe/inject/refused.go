package inject

// RefusedError says why memtop cannot go into a program. Nothing has been tried yet.
type RefusedError struct {
	Cause, Remedy string
	Forbidden     bool // the system or the program's owner forbids it; false if something is missing
}

// Error returns the cause.
func (e *RefusedError) Error() string { return e.Cause }

// launch is the remedy that always works.
const launch = "start it with memtop run"

// FailedError says that the agent did not start in the program. The program goes on.
type FailedError struct{ Cause string }

// Error returns the cause.
func (e *FailedError) Error() string { return e.Cause }
