package conformance

import (
	"fmt"
	"sync"

	"github.com/memtop/memtop/snapshots/trace"
)

// Outcome is the result of checking a rule.
type Outcome int

// A rule passed every check, or was broken, or could not be checked.
const (
	NotSeen Outcome = iota
	Passed
	Broken
)

var outcomeNames = [...]string{"not seen", "passed", "broken"}

// String returns the outcome's name.
func (o Outcome) String() string { return outcomeNames[o] }

// MarshalText returns the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Finding is one place where a rule is broken. Its texts are printable.
type Finding struct {
	Seen string `json:"seen"`
	Want string `json:"want"`
}

// findingsKept bounds the findings of a rule.
const findingsKept = 3

// mark holds the checks of one rule.
type mark struct {
	outcome  Outcome
	why      string // why the rule was not seen
	findings []Finding
	count    int // of all findings
}

// ledger collects the checks of each rule. Safe for concurrent use.
type ledger struct {
	mu    sync.Mutex
	marks map[string]*mark
}

func newLedger() *ledger {
	l := &ledger{marks: make(map[string]*mark, len(rules))}
	for i := range rules {
		l.marks[rules[i].Name] = &mark{why: rules[i].unseen}
	}
	return l
}

// mark returns the mark of a rule; l.mu is held.
func (l *ledger) mark(rule string) *mark {
	m := l.marks[rule]
	if m == nil {
		panic("conformance: there is no rule " + rule)
	}
	return m
}

// passed notes that a rule was kept.
func (l *ledger) passed(rule string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.mark(rule)
	m.outcome = max(m.outcome, Passed)
}

// unseen notes why a rule cannot be checked.
func (l *ledger) unseen(rule, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark(rule).why = why
}

// broken notes a broken rule: what it wants, and what the probe did.
func (l *ledger) broken(rule, want, seen string, values ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.mark(rule)
	m.outcome = Broken
	m.count++
	if len(m.findings) < findingsKept {
		text := trace.Shorten(fmt.Sprintf(seen, values...), seenLength)
		m.findings = append(m.findings, Finding{Seen: trace.Printable(text), Want: trace.Printable(want)})
	}
}

// seenLength bounds the shown part of an observation, in bytes.
const seenLength = 400

// check notes that a rule passed if ok, and else that it was broken.
func (l *ledger) check(rule string, ok bool, want, seen string, values ...any) bool {
	if ok {
		l.passed(rule)
	} else {
		l.broken(rule, want, seen, values...)
	}
	return ok
}
