package exposition

import (
	"mime"
	"strconv"
	"strings"
)

// Format is how metrics are written.
type Format int

// The formats, the preferred one first.
const (
	OpenMetrics Format = iota
	Text
)

// mediaType is what a format is called in HTTP.
type mediaType struct{ major, minor, version string }

var mediaTypes = [...]mediaType{
	OpenMetrics: {"application", "openmetrics-text", "1.0.0"},
	Text:        {"text", "plain", "0.0.4"},
}

// ContentType returns what the format is called in a Content-Type header.
func (f Format) ContentType() string {
	m := mediaTypes[f]
	return m.major + "/" + m.minor + "; version=" + m.version + "; charset=utf-8"
}

// ContentTypes names all formats in a line, for who asked for another.
func ContentTypes() string { return OpenMetrics.ContentType() + " or " + Text.ContentType() }

// Negotiate returns the format that an Accept header, given as its values,
// likes best; OpenMetrics where it likes both equally or says nothing. It
// reports false when the header takes neither.
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

// quality returns how much a header likes m, from 0 for not at all to 1. Of the
// ranges that m is in, the one that says most about it counts.
func (m mediaType) quality(header string) float64 {
	most, quality := 0, 0.0
	for element := range strings.SplitSeq(header, ",") {
		kind, parameters, err := mime.ParseMediaType(element)
		if err != nil {
			continue // what cannot be read asks for nothing
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

// matches returns how much a range of media types says about m, 0 when m is not
// in it.
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
