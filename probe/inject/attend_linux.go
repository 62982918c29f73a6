package inject

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// The names under which memtop starts itself, to become a program and then to act as it. The
// variable contains the order.
const (
	becomes       = "memtop-becomes"
	acts          = "memtop-acts"
	orderVariable = "MEMTOP_ORDER"
)

// Attend handles a memtop that [Plan.Start] has started: it does that task and ends the
// process. In every other process it returns at once. Call it before anything else.
func Attend() {
	var work func(*order) error
	switch os.Args[0] {
	case becomes:
		work = become
	case acts:
		work = act
	default:
		return
	}
	var o order
	err := json.Unmarshal([]byte(os.Getenv(orderVariable)), &o)
	_ = os.Unsetenv(orderVariable) // processes started here must not have it
	if err == nil {
		err = work(&o)
	}
	if err == nil && os.Args[0] == becomes {
		os.Exit(0) // the other process has written the answer
	}
	if text, err := json.Marshal(answerOf(err)); err == nil {
		_, _ = os.Stdout.Write(text) // if nobody reads it, nobody needs it
	}
	os.Exit(0)
}

func answerOf(err error) answer {
	var refused *RefusedError
	switch {
	case err == nil:
		return answer{}
	case errors.As(err, &refused):
		return answer{refused.Cause, true, refused.Forbidden}
	default:
		return answer{Cause: err.Error()}
	}
}

// become makes a new process take the program's identity and do the task.
func become(o *order) error {
	whenDeserted(func() {
		<-time.After(2 * debugLeave) // for the new process, which then ends with this one
		os.Exit(1)
	})
	folder, err := os.Open("/proc/" + strconv.Itoa(o.PID))
	if err != nil {
		return err
	}
	defer folder.Close()                               // it was only read
	of := fmt.Sprintf("/proc/self/fd/%d", folder.Fd()) // stays this process, even if its pid is used again
	f, err := take(of)
	theirs, err2 := readRights(of) // after its files were opened
	mine, err3 := readRights("/proc/self")
	if err := cmp.Or(err, err2, err3); err != nil {
		return err
	}
	if !theirs.equal(o.Rights) {
		return &RefusedError{Cause: o.Task.Name + " changed while memtop checked it", Forbidden: true}
	}
	s := becoming(mine, theirs, f)
	if err := s.actAs(&o.Task); err != nil {
		return err
	}
	err = join(of) // after the copy was made, so that its memory does not count as the program's
	if err == nil {
		err = s.run()
	}
	if err != nil {
		return &RefusedError{Cause: fmt.Sprintf("memtop must take the identity of %s to go in, and cannot: %v", o.Task.Name, err), Forbidden: true}
	}
	return nil
}

// actAs ends the series by starting a memtop that does a task, with no files but its own.
func (s *series) actAs(t *task) error {
	program, err := inMemory()
	if err != nil {
		return err
	}
	text, err := json.Marshal(order{Task: *t})
	if err != nil {
		return err
	}
	if err := closeOnExec(); err != nil {
		return err
	}
	return s.exec(program, acts, append(standard, orderVariable+"="+string(text)))
}

// closeOnExec closes all files but the first three in new programs, whoever opened them.
func closeOnExec() error {
	files, err := os.ReadDir("/proc/self/fd")
	for _, file := range files {
		if n, err := strconv.Atoi(file.Name()); err == nil && n > 2 {
			unix.CloseOnExec(n)
		}
	}
	return err
}

// act does a task with the program's identity. It stops when the asking process has gone.
func act(o *order) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	whenDeserted(cancel)
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return &RefusedError{Cause: o.Task.Name + " has no /proc that shows its own processes"}
	}
	if err := mayOpen(o.Task.PID); err != nil {
		return &RefusedError{Cause: fmt.Sprintf("the system lets no other process into %s, and memtop has only its rights: %v", o.Task.Name, err), Forbidden: true}
	}
	unix.CloseOnExec(inherited)
	o.Task.executable = os.NewFile(inherited, interpreter)
	return o.Task.do(ctx)
}

// whenDeserted calls do when the asking process has ended, or waits no longer.
func whenDeserted(do func()) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // then the pipe closes
		do()
	}()
}

// inherited is the number of the one file that the new process gets.
const inherited = 3
