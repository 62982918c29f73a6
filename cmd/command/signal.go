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

// Endings returns what ends a program in order.
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

// Code returns the exit code, which is the one that a shell shows for a program
// that the signal kills.
func (e Ended) Code() int { return ExitSignal + int(e.Signal) }

// WithSignals returns a context that is cancelled by a signal to end, and whose
// cause is then an [Ended]. Further ones change nothing until stop is called,
// which gives all of them their default action again. A program that is to
// outlive its terminal, as under nohup, is not ended by a hangup.
func WithSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	// What is ignored at the start stays so only for a hangup: a script's shell
	// has what it leaves in the background ignore interrupts, and the script ends
	// it with one all the same.
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

// Because returns why ctx was cancelled if that is what err says, or else err.
func Because(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
