// Package leak finds leaks: it groups allocations by the site that creates them,
// notes the memory of each site after every step, and judges whether a site leaks
// or only looks like it. [Sites] knows an allocation's site, [History] reads the
// events once, and a [Survey] judges the sites at one moment. docs/answers.md
// explains the verdicts.
package leak
