package inject

import (
	"context"
	"os"
)

// task is all that is done to bring the agent into a program. It is done with the
// program's rights and from where the program is: see "Becoming the program".
type task struct {
	PID      int      // the program's, for who does this
	Name     string   // of the program, for the user
	Debugger string   // the path of one, "" where Python does it itself
	Folders  []string // where the agent may be put, as the program sees them
	Root     string   // what is / for the program

	executable *os.File // what the program ran when its rights were looked at
}

// do brings the agent in and returns when it runs there.
func (t *task) do(ctx context.Context) error {
	place, err := t.prepare()
	if err != nil {
		return err
	}
	defer place.clear()
	if t.Debugger == "" {
		err = t.remote(ctx, place.script)
	} else {
		err = t.debug(ctx, place.script)
	}
	if err != nil {
		return err
	}
	return place.await(ctx, t)
}

// environment returns the variables for what is run: those of who does the task.
func (t *task) environment() []string { return append(os.Environ(), "LC_ALL=C") }
