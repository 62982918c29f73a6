// Package cause translates errors of the standard library into words for users.
//
// Such errors are written for programmers: they name calls, types and packages.
// An error of this module is already a clause for users, and stays as it is.
package cause

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Of returns the cause of an error as the clause of a sentence. That is the
// error's own text, with the texts of wrapped errors of the standard library
// translated.
func Of(err error) string {
	if text, ok := meaning(err); ok {
		return text
	}
	text := err.Error()
	for _, inner := range wrapped(err) {
		text = strings.ReplaceAll(text, inner.Error(), Of(inner))
	}
	return text
}

// wrapped returns the errors that err wraps directly.
func wrapped(err error) []error {
	switch err := err.(type) { //nolint:errorlint // one level at a time
	case interface{ Unwrap() []error }:
		return err.Unwrap()
	case interface{ Unwrap() error }:
		if inner := err.Unwrap(); inner != nil {
			return []error{inner}
		}
	}
	return nil
}

// meaning translates one error of the standard library.
func meaning(err error) (text string, ok bool) {
	switch err := err.(type) { //nolint:errorlint // what it wraps is Of's business
	case *fs.PathError:
		return about(err.Path, err.Err), true
	case *os.LinkError:
		return about(err.New, err.Err), true
	case *exec.Error:
		return about(err.Name, err.Err), true
	case *os.SyscallError:
		return Of(err.Err), true
	case *net.OpError:
		return Of(err.Err), true
	case *url.Error:
		return Of(err.Err), true
	case *json.SyntaxError:
		return fmt.Sprintf("byte %d is not as JSON has it", err.Offset), true
	case *json.UnmarshalTypeError:
		return misplaced(err), true
	case *strconv.NumError:
		return fmt.Sprintf("%q is not a number that fits here", err.Num), true
	case *time.ParseError:
		return fmt.Sprintf("%q is no time", err.Value), true
	}
	return plain(err)
}

// about names the object of an operating system error, if it has a name.
func about(path string, err error) string {
	if path == "" {
		return Of(err)
	}
	return path + ": " + Of(err)
}

// misplaced says which value of a JSON text has the wrong type.
func misplaced(err *json.UnmarshalTypeError) string {
	value := "the value"
	if err.Field != "" {
		value = fmt.Sprintf("the value of %q", err.Field)
	}
	return value + " is of the wrong kind: " + err.Value
}

// plain translates errors that are identified by their value.
func plain(err error) (text string, ok bool) {
	for _, known := range []struct {
		err  error
		text string
	}{
		{io.EOF, "it ends early"},
		{io.ErrUnexpectedEOF, "it ends early"},
		{io.ErrClosedPipe, "it was closed"},
		{net.ErrClosed, "it was closed"},
		{os.ErrClosed, "it was closed"},
		{context.Canceled, "it was interrupted"},
		{context.DeadlineExceeded, "it took too long"},
		{os.ErrDeadlineExceeded, "it took too long"},
		{exec.ErrNotFound, "there is no such program"},
		{syscall.ECONNRESET, "the other side closed the connection"},
		{syscall.EPIPE, "the other side stopped reading"},
		{syscall.ECONNREFUSED, "nothing listens there"},
	} {
		if err == known.err { //nolint:errorlint // what it wraps is Of's business
			return known.text, true
		}
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() && len(wrapped(err)) == 0 {
		return "it took too long", true
	}
	return "", false
}
