package exposition

import "testing"

func TestTheFormatIsTheOneThatIsAskedFor(t *testing.T) {
	const none = Format(-1)
	tests := map[string]struct {
		accept []string
		want   Format
	}{
		"nothing is said": {nil, OpenMetrics},
		"curl":            {[]string{"*/*"}, OpenMetrics},
		"Prometheus 2.53": {[]string{"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"}, OpenMetrics},
		"Prometheus 3": {[]string{
			"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5," +
				"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
		}, OpenMetrics},
		"Prometheus 3 that is told to take PrometheusText0.0.4": {[]string{"text/plain;version=0.0.4;q=0.6,*/*;q=0.2"}, Text},
		"Prometheus that likes protocol buffers best": {[]string{
			"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		}, Text},
		"Prometheus 1 and Telegraf":               {[]string{"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,text/plain;version=0.0.4;q=0.3"}, Text},
		"text":                                    {[]string{"text/plain"}, Text},
		"text in capitals with spaces":            {[]string{"  TEXT/Plain ; Version=0.0.4 ; Q=0.4 "}, Text},
		"a charset besides":                       {[]string{"text/plain; version=0.0.4; charset=utf-8"}, Text},
		"any text":                                {[]string{"text/*"}, Text},
		"the higher quality":                      {[]string{"application/openmetrics-text;q=0.2, text/plain;q=0.3"}, Text},
		"quality before order":                    {[]string{"text/plain;q=0.3, application/openmetrics-text;q=0.4"}, OpenMetrics},
		"both equally":                            {[]string{"text/plain, application/openmetrics-text"}, OpenMetrics},
		"all, but no OpenMetrics":                 {[]string{"*/*, application/openmetrics-text;q=0"}, Text},
		"all, but OpenMetrics of another version": {[]string{"application/openmetrics-text;version=0.0.1, */*;q=0.1"}, OpenMetrics},
		"two headers":                             {[]string{"application/json", "text/plain"}, Text},
		"junk beside text":                        {[]string{",;;=,text/plain;q=x,text/plain;q=0.5"}, Text},
		"a quality that is not a number":          {[]string{"text/plain;q=NaN"}, none},
		"a quality out of its bounds":             {[]string{"text/plain;q=2, application/openmetrics-text;q=-1"}, none},
		"neither":                                 {[]string{"application/json"}, none},
		"nothing at all":                          {[]string{"*/*;q=0"}, none},
		"only text that is not written":           {[]string{"text/plain;version=1.0.0"}, none},
		"junk":                                    {[]string{"\x00/;q"}, none},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := Negotiate(test.accept)
			if !ok {
				got = none
			}
			if got != test.want {
				t.Errorf("got format %d, want %d", got, test.want)
			}
		})
	}
}

func TestContentTypesAreThoseOfTheStandards(t *testing.T) {
	for format, want := range map[Format]string{
		OpenMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
		Text:        "text/plain; version=0.0.4; charset=utf-8",
	} {
		if got := format.ContentType(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
