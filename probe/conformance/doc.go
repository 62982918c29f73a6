// Package conformance plays viewer against a running probe and says, rule by rule,
// whether it keeps docs/protocol.md: passed, broken, or not seen.
//
//	Examine   runs the examiners, each of which asks or watches one thing   (examine.go)
//	rules     the rules of the page by id, as far as they can be seen       (rules.go)
//	ledger    what was seen of each rule                                    (ledger.go)
//	watcher   a stream as it is read: order, numbers, memory                (watch.go, playing.go)
//	lines     the same stream as lines of JSON                              (lines.go)
//	Report    the outcome, as text and as JSON                              (report.go)
//
// It costs the program what a few viewers cost, and changes no setting unless it is
// told to. What a program sends is bounded in memory and in time, whatever it is.
package conformance
