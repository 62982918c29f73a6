// Package exposition writes metrics in the formats that collectors read:
// OpenMetrics 1.0 text, or the older text format 0.0.4 of Prometheus. The Accept
// header of the request chooses the format.
package exposition
