package remote

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"
)

// Way is the command that starts a bridge on a machine.
type Way struct {
	host    string // how the user calls the machine
	program string
	options []string // before the remote command
	silent  []string // options that keep the program from asking the user
	run     []string // the remote command
	memtop  string   // the memtop in the remote command
	test    string   // a command with which the user can find the fault
	install string   // what to do if this machine lacks the program
	limits  limits   // for a test's patience, the zero value for a user's
}

// limits are how long a machine may take.
type limits struct {
	greets  time.Duration // a bridge that needs no answer from the user
	answers time.Duration // a question
	silence time.Duration // before it is asked whether it is there
	pings   time.Duration // to answer a ping
}

// filled returns l with defaults for a user in place of zeros.
func (l limits) filled() limits {
	return limits{
		greets: cmp.Or(l.greets, 20*time.Second), answers: cmp.Or(l.answers, 15*time.Second),
		silence: cmp.Or(l.silence, silence), pings: cmp.Or(l.pings, pings),
	}
}

// Host returns the user's name of the machine.
func (w Way) Host() string { return w.host }

// arguments returns the arguments of the program.
func (w *Way) arguments(ask bool) []string {
	var all []string
	if !ask {
		all = append(all, w.silent...)
	}
	all = append(all, w.options...)
	return append(all, w.run...)
}

// SSH returns the way to a host by the user's own ssh, with its configuration, keys
// and jump hosts. memtop is the program to run there, "" for the one in the PATH there.
// The error is a [*NameError].
//
// It uses a shared connection of the user's ssh if there is one, but never
// becomes the shared connection itself, because that would end with memtop.
// Forwardings of the configuration are for the user's own sessions.
func SSH(host, memtop string) (Way, error) {
	if err := checkHost(host); err != nil {
		return Way{}, err
	}
	memtop = cmp.Or(memtop, "memtop")
	return Way{
		host: host, program: cmp.Or(os.Getenv("MEMTOP_SSH"), "ssh"),
		options: []string{"-T", "-a", "-x", "-oClearAllForwardings=yes", "-oControlMaster=no"},
		silent:  []string{"-oBatchMode=yes"},
		run:     []string{"--", host, quoted(memtop) + " bridge"},
		memtop:  memtop, test: "ssh " + Word(host) + " " + quoted(memtop) + " version",
		install: "install OpenSSH's client, or name another program in MEMTOP_SSH",
	}, nil
}

// NameError is an invalid name of a machine or job, which a command could take
// for something else.
type NameError struct{ Name, Of, Remedy string }

// Error says what the name is not.
func (e *NameError) Error() string { return fmt.Sprintf("%q is not %s", e.Name, e.Of) }

// checkHost refuses an invalid name, and a name that ssh could take for an
// option.
func checkHost(host string) error {
	name := host[strings.LastIndexByte(host, '@')+1:]
	plain := strings.IndexFunc(host, func(c rune) bool { return c <= ' ' || c == 0x7f || c > 0x7f && c < 0xa0 }) < 0
	if name == "" || !plain || strings.HasPrefix(name, "-") || strings.HasPrefix(host, "-") {
		return &NameError{Name: host, Of: "the name of a host"}
	}
	return nil
}

// quoted quotes a path as one word for a shell, with a working ~/.
func quoted(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return "~/" + Word(rest)
	}
	return Word(path)
}

// Word quotes a text so that a shell takes it as one word.
func Word(text string) string {
	special := func(c rune) bool {
		return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+/,@%=:", c)
	}
	if text != "" && strings.IndexFunc(text, special) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
