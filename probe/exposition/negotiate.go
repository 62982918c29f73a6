package exposition

import (
	"mime"
	"strconv"
	"strings"
)

// Format is a text format of metrics.
type Format int

// The formats, the preferred one first.
const (
	OpenMetrics Format = iota
	Text
)

// mediaType is the name of a format in HTTP.
type mediaType struct{ major, minor, version string }

var mediaTypes = [...]mediaType{
	OpenMetrics: {"application", "openmetrics-text", "1.0.0"},
	Text:        {"text", "plain", "0.0.4"},
}

// ContentType returns the name of the format in a Content-Type header.
func (f Format) ContentType() string {
	m := mediaTypes[f]
	return m.major + "/" + m.minor + "; version=" + m.version + "; charset=utf-8"
}

// ContentTypes names all formats in a line, for the answer to a request for
// another format.
func ContentTypes() string { return OpenMetrics.ContentType() + " or " + Text.ContentType() }

// Negotiate returns the format that an Accept header, given as its values,
// prefers. It returns OpenMetrics if the header prefers none or is absent, and
// reports false if the header accepts neither format.
func Negotiate(accept []string) (Format, bool) {
	header := strings.Join(accept, ",")
	if strings.TrimSpace(header) == "" {
		return OpenMetrics, true
	}
	best, quality := OpenMetrics, 0.0
	for _, f := range []Format{OpenMetrics, Text} {
		if q := mediaTypes[f].quality(header); q > quality {
			best, quality = f, q
		}
	}
	return best, quality > 0
}

// quality returns the quality value that a header gives to m, from 0 for not
// acceptable to 1. If m is in several ranges, the most specific range counts.
func (m mediaType) quality(header string) float64 {
	most, quality := 0, 0.0
	for element := range strings.SplitSeq(header, ",") {
		kind, parameters, err := mime.ParseMediaType(element)
		if err != nil {
			continue // a range that cannot be read counts for nothing
		}
		q, err := strconv.ParseFloat(parameters["q"], 64)
		if _, given := parameters["q"]; !given {
			q, err = 1, nil
		}
		if err != nil || !(q >= 0 && q <= 1) {
			continue
		}
		if says := m.matches(kind, parameters["version"]); says > most || says == most && says > 0 && q > quality {
			most, quality = says, q
		}
	}
	return quality
}

// matches returns how specific a range of media types is for m, 0 if m is not in
// it.
func (m mediaType) matches(kind, version string) int {
	switch {
	case kind == m.major+"/"+m.minor && version == m.version:
		return 4
	case version != "":
		return 0
	case kind == m.major+"/"+m.minor:
		return 3
	case kind == m.major+"/*":
		return 2
	case kind == "*/*":
		return 1
	}
	return 0
}
