// Package collector gathers the metrics of all programs with a probe on this
// machine and serves them to Prometheus and its like.
//
// Each scrape asks every program once, all at a time, and waits for none of them
// longer than the scraper would. What programs say is read as numbers, never
// passed on as text, and there is a bound on how many programs, devices and
// characters of them are shown: a program that means ill can spoil its own
// numbers and nothing else.
package collector
