package remote

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"
)

// Way is how a bridge is started on a machine: a command.
type Way struct {
	host    string // how the user calls the machine
	program string
	options []string // before what is to be run there
	silent  []string // options that keep the program from asking the user
	run     []string // what is to be run there
	memtop  string   // which memtop that is
	test    string   // a command by which the user may see what is wrong
	install string   // what to do when there is no such program here
	limits  limits   // for a test's patience, the zero value for a user's
}

// limits are how long a machine may take.
type limits struct {
	greets  time.Duration // a bridge that needs no answer of the user's
	answers time.Duration // a question
	silence time.Duration // before it is asked whether it is there
	pings   time.Duration // to say so
}

// filled returns l with a user's patience where it says nothing.
func (l limits) filled() limits {
	return limits{
		greets: cmp.Or(l.greets, 20*time.Second), answers: cmp.Or(l.answers, 15*time.Second),
		silence: cmp.Or(l.silence, silence), pings: cmp.Or(l.pings, pings),
	}
}

// Host returns how the user calls the machine.
func (w Way) Host() string { return w.host }

// arguments returns those of the program.
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
// It goes through a connection that the user's ssh already has, but never becomes the
// one that others go through, which the end of memtop would end. Forwardings of the
// configuration are for the user's own sessions.
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

// NameError is a name that no machine or job has, and that a command could take for
// something else.
type NameError struct{ Name, Of, Remedy string }

// Error says what it is not.
func (e *NameError) Error() string { return fmt.Sprintf("%q is not %s", e.Name, e.Of) }

// checkHost refuses a name that ssh could take for an option, and one that is none.
func checkHost(host string) error {
	name := host[strings.LastIndexByte(host, '@')+1:]
	plain := strings.IndexFunc(host, func(c rune) bool { return c <= ' ' || c == 0x7f || c > 0x7f && c < 0xa0 }) < 0
	if name == "" || !plain || strings.HasPrefix(name, "-") || strings.HasPrefix(host, "-") {
		return &NameError{Name: host, Of: "the name of a host"}
	}
	return nil
}

// quoted returns a path as a shell takes it for one word, with ~/ for what it is.
func quoted(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return "~/" + Word(rest)
	}
	return Word(path)
}

// Word returns a text as a shell takes it for one word, and for nothing else.
func Word(text string) string {
	special := func(c rune) bool {
		return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+/,@%=:", c)
	}
	if text != "" && strings.IndexFunc(text, special) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
