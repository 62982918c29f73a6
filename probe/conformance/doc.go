// Package conformance acts as a viewer of a running probe and reports, rule by
// rule, whether the probe keeps docs/protocol.md: passed, broken, or not seen.
//
//	Examine   runs the examiners, each of which asks or watches one thing   (examine.go)
//	rules     the rules of the page by id, as far as they can be seen       (rules.go)
//	ledger    what was seen of each rule                                    (ledger.go)
//	watcher   a stream as it is read: order, numbers, memory                (watch.go, playing.go)
//	Report    the outcome, as text and as JSON                              (report.go)
//
// It costs the program as much as a few viewers, and changes no setting unless
// the caller asks for that. Whatever a program sends, the examination takes
// bounded memory and time.
package conformance
