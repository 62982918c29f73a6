package cause_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/snapshots/cause"
)

func TestErrorsOfTheStandardLibraryAreToldInWords(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"an error of our own":      {errors.New("the model is too small"), "the model is too small"},
		"a file that is not there": {openError(), "/none/such: no such file or directory"},
		"within an error of our own": {
			fmt.Errorf("opening the log: %w", openError()), "opening the log: /none/such: no such file or directory",
		},
		"two that are joined": {
			fmt.Errorf("a: %w, b: %w", io.ErrUnexpectedEOF, context.DeadlineExceeded), "a: it ends early, b: it took too long",
		},
		"a rename": {
			&os.LinkError{Op: "rename", Old: ".hidden", New: "out", Err: syscall.ENOSPC}, "out: no space left on device",
		},
		"a request to a program that has gone": {
			&url.Error{Op: "Get", URL: "http://memtop/v1/info", Err: &net.OpError{Op: "read", Net: "unix", Err: os.NewSyscallError("read", syscall.ECONNRESET)}},
			"the other side closed the connection",
		},
		"a request that took too long": {&url.Error{Op: "Get", URL: "x", Err: timeoutError{}}, "it took too long"},
		"no JSON":                      {jsonError(`{"a":}`), "byte 6 is not as JSON has it"},
		"half of a JSON":               {jsonError(`{"a":`), "byte 5 is not as JSON has it"},
		"JSON of another form":         {jsonError(`{"a": "one"}`), `the value of "a" is of the wrong kind: string`},
		"JSON that is not an object":   {jsonError(`[]`), "the value is of the wrong kind: array"},
		"a number":                     {numberError("x1"), `"x1" is not a number that fits here`},
		"a time":                       {timeError("soon"), `"soon" is no time`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cause.Of(test.err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func openError() error {
	_, err := os.Open("/none/such")
	return err
}

func jsonError(text string) error {
	var to struct {
		A int `json:"a"`
	}
	return json.Unmarshal([]byte(text), &to)
}

func numberError(text string) error {
	_, err := strconv.Atoi(text)
	return err
}

func timeError(text string) error {
	_, err := time.Parse(time.RFC3339, text)
	return err
}

// timeoutError is as net/http's own, which has no name.
type timeoutError struct{}

func (timeoutError) Error() string   { return "net/http: timeout awaiting response headers" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
