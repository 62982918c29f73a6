// Package leak tells where memory is created and lost: the sites that allocations are
// of, what each holds after every step, and whether that is a leak or what looks like
// one. [Sites] knows an allocation's site, [History] reads the events once, and a
// [Survey] judges the sites at one moment. docs/answers.md explains the verdicts.
package leak
