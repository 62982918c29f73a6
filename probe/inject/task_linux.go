package inject

import (
	"context"
	"os"
)

// task is everything needed to bring the agent into a program. It is done with the program's
// rights and in its namespaces: see "Becoming the program".
type task struct {
	PID      int      // of the program, in the PID namespace of the process that does this
	Name     string   // of the program, for the user
	Debugger string   // its path, "" if Python needs none
	Folders  []string // where the agent may be written, as the program sees them
	Root     string   // the path of the program's /

	executable *os.File // the file that the program ran when its rights were read
}

// do brings the agent in, and returns once it runs.
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

// environment returns the variables for a tool: those of the process that does the task.
func (t *task) environment() []string { return append(os.Environ(), "LC_ALL=C") }
