package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Ended is the error of a program that a signal ended before it finished.
type Ended struct{ Signal syscall.Signal }

// Endings returns the signals that end a program in order.
func Endings() []Ended {
	return []Ended{{syscall.SIGHUP}, {syscall.SIGINT}, {syscall.SIGQUIT}, {syscall.SIGTERM}}
}

// Error says how the program ended.
func (e Ended) Error() string {
	switch e.Signal {
	case syscall.SIGHUP:
		return "hung up"
	case syscall.SIGINT:
		return "interrupted"
	case syscall.SIGQUIT:
		return "quit"
	default:
		return "terminated"
	}
}

// Code returns the exit code that a shell shows for a program killed by the
// signal.
func (e Ended) Code() int { return ExitSignal + int(e.Signal) }

// WithSignals returns a context that is cancelled by a signal to end, and whose
// cause is then an [Ended]. Further signals change nothing until stop is called,
// which restores their default actions. A hangup does not end a program that
// ignores it, as under nohup.
func WithSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	// Only a hangup stays ignored if it was ignored at the start: a shell makes the
	// background commands of a script ignore interrupts, and yet the script may end
	// them with one.
	came := make(chan os.Signal, 1) // never closed
	for _, e := range Endings() {
		if e.Signal != syscall.SIGHUP || !signal.Ignored(e.Signal) {
			signal.Notify(came, e.Signal)
		}
	}
	go func() {
		select {
		case s := <-came:
			cancel(Ended{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(came)
		cancel(nil)
	}
}

// Because returns the cause of ctx if err reports its cancellation, or else err.
func Because(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
