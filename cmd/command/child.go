package command

import (
	"os/exec"
	"runtime"
)

// Start starts a command that the system ends when this process ends, in whatever way. The
// channel has the error of its Wait, and is closed when the command has ended.
func Start(cmd *exec.Cmd) (ended <-chan error, err error) {
	started, done := make(chan error), make(chan error, 1) // done is closed here
	go func() {
		runtime.LockOSThread() // the system ends the command when this thread ends
		defer runtime.UnlockOSThread()
		defer close(done)
		endWithThread(cmd)
		err := cmd.Start()
		started <- err
		if err == nil {
			done <- cmd.Wait()
		}
	}()
	return done, <-started
}
