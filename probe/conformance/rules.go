package conformance

import "strings"

// Rule is a rule of docs/protocol.md that can be seen from outside.
type Rule struct {
	ID   string `json:"id"`
	Text string `json:"text"` // in a line
	// unseen is why there may be nothing to see of it.
	unseen string
}

// Group is the first part of the id: what the rule is about.
func (r Rule) Group() string { group, _, _ := strings.Cut(r.ID, "."); return group }

const (
	noEvents  = "the program had no events in that time"
	noSteps   = "the program ended no step in that time"
	noControl = "nothing of it was sent"
)

var rules = []Rule{
	{"socket.folder", "the socket's folder is the program's user's own, mode 0700", "this system has no such modes"},
	{"socket.mode", "the socket has mode 0600", "this system has no such modes"},
	{"socket.name", "the socket is called <pid>-<start time>.sock", "this system has no such names"},

	{"http.400", "what makes no sense is refused with 400", ""},
	{"http.403", "changes of a read-only program are refused with 403", ""},
	{"http.404", "what is not there is refused with 404", ""},
	{"http.405", "another method is refused with 405", ""},
	{"http.406", "metrics in no format that is accepted are refused with 406", ""},
	{"http.408", "a body that does not come is refused with 408", ""},
	{"http.413", "a body that is too large is refused with 413", ""},
	{"http.viewer-name", "Memtop-Viewer has up to 64 printable ASCII characters", ""},
	{"http.error", "a refusal is a JSON object with one line of error", ""},
	{"http.slow", "a request that does not end ends the connection", ""},
	{"http.idle", "a viewer that takes nothing for five seconds is cut off", ""},
	{"http.viewers", "one more than 64 viewers is refused with 503", "it turns other viewers away: ask for it with --crowd"},
	{"http.survives", "the program goes on after all that", ""},

	{"info.json", "/v1/info is one JSON object of at most 64 KiB", ""},
	{"info.fields", "its fields have the names and types of the page", ""},
	{"info.devices", "its devices ascend, and there is one at least", ""},
	{"info.version", "its version is that of the protocol", ""},
	{"info.same", "each answer is of the same process", ""},
	{"info.sums", "what is counted since the begin never shrinks", ""},
	{"info.memory", "its bytes are those that the stream leads to", noEvents},

	{"stream.answer", "/v1/stream is a stream", ""},
	{"stream.header", "a stream begins with its header", ""},
	{"stream.hello-first", "hello is first, and comes once", ""},
	{"stream.interval", "the interval is held between 50 ms and a minute", ""},
	{"stream.viewers", "each viewer sees the same", ""},
	{"stream.past", "with ?past a stream begins earlier", ""},
	{"stream.goes-on", "a stream lasts as long as its viewer reads", ""},
	{"stream.bye", "bye is last, and no stream ends without it", "the program goes on"},

	{"frame.type", "a frame has a type from 1 to 127", ""},
	{"frame.length", "a frame has at most 16 MiB", ""},
	{"frame.checksum", "a frame ends with the checksum of what is before it", ""},

	{"table.entries", "a table's payload is whole entries", "no table came"},
	{"table.numbers", "a number that is referred to came in a table before", ""},

	{"message.json", "a message is one JSON value with fields of the page's types", ""},
	{"hello.version", "hello has the version of the header", ""},
	{"hello.devices", "hello names the devices, ascending", ""},
	{"hello.program", "hello says which program it is, and when it began", ""},

	{"base.layout", "a base has the layout of the page", ""},
	{"base.device", "a base is of a device of hello", ""},
	{"base.segments", "segments ascend and do not overlap", ""},
	{"base.blocks", "the blocks of a segment fill it", ""},
	{"base.missed", "missed is how many events a base stands for", ""},
	{"base.consistent", "a base where none are missing is what the events led to", "no second base came"},

	{"events.layout", "a frame of events has the layout of the page", noEvents},
	{"events.base-first", "events of a device come after a base of it", noEvents},
	{"events.first", "first is where the frame before ended", noEvents},
	{"events.time", "times are microseconds since 1970", noEvents},
	{"events.live", "events are about memory that is as they say", noEvents},
	{"events.consistent", "events played forward fit the memory", noEvents},

	{"step.ascending", "steps of a device ascend", noSteps},
	{"step.fields", "a step says when it ended, and on which device", noSteps},
	{"step.peaks", "peaks are not less than what they are peaks of", noSteps},
	{"options.keys", "each key of options comes once", noControl},
	{"options.value", "an option's value is one of its choices", noControl},
	{"change.fields", "a change has an id, a key and a time", noControl},
	{"change.states", "a change is pending, then applied or refused", noControl},
	{"gauges.fields", "gauges say when, and -1 for what is not known", "the program has no gauges"},
	{"counters.fields", "counters are sums that never shrink", ""},
	{"counters.cadence", "counters come at least every second or interval", ""},

	{"lines.answer", "the stream comes as lines of JSON when asked so", ""},
	{"lines.form", "a line has the names of the page", ""},
	{"lines.same", "lines say what frames say", ""},

	{"settings.answer", "/v1/settings is a JSON object with options and changes", ""},
	{"settings.set", "a change is answered with that change", ""},
	{"settings.holder", "one viewer at a time changes settings; another gets 409", ""},
	{"settings.released", "the right to change ends with the holder's last stream", ""},
	{"prediction.answer", "/v1/prediction says what a value would change, or null", ""},
	{"prediction.refused", "a prediction of nothing is refused with 400", ""},
	{"snapshot.pickle", "/v1/snapshot is a pickle as PyTorch writes it", ""},
	{"snapshot.memory", "a snapshot has the memory that the stream leads to", ""},
	{"metrics.format", "/metrics is by the letter of the format that is liked best", ""},
	{"metrics.values", "metrics are the numbers of /v1/info", ""},
}
