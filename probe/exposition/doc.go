// Package exposition writes metrics as collectors read them: as OpenMetrics 1.0
// text, or in the text format 0.0.4 that Prometheus had before. What is written
// is chosen by the Accept header of the request.
package exposition
