// Package collector gathers the metrics of all programs with a probe on this
// machine and serves them to Prometheus and its like.
//
// Each scrape asks all programs at the same time, once, and waits for none of
// them longer than the scraper would. The collector parses the programs' answers
// as numbers and never passes on their text. It bounds how many programs, devices
// and characters it shows: a hostile program can only spoil its own numbers.
package collector
