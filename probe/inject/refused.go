package inject

// RefusedError says why there is no way into a program, before anything was tried.
type RefusedError struct {
	Cause, Remedy string
	Forbidden     bool // by the system or the program's owner, rather than for want of something
}

// Error returns the cause.
func (e *RefusedError) Error() string { return e.Cause }

// launch is what always works.
const launch = "start it with memtop run"

// FailedError says that the agent does not run in the program, which goes on.
type FailedError struct{ Cause string }

// Error returns the cause.
func (e *FailedError) Error() string { return e.Cause }
