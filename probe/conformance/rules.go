package conformance

import "strings"

// Rule is a rule of docs/protocol.md that a viewer can check, or one aspect of
// it.
type Rule struct {
	// Labels are the rule's labels in the page: several, separated by blanks, if
	// they can only be checked together.
	Labels string `json:"labels"`
	Name   string `json:"name"` // the name of this aspect
	Text   string `json:"text"` // in a line
	// unseen is why the rule may not be checkable.
	unseen string
}

// Group is the first part of the name: the subject of the rule.
func (r Rule) Group() string { group, _, _ := strings.Cut(r.Name, "."); return group }

const (
	noEvents  = "the program had no events in that time"
	noSteps   = "the program ended no step in that time"
	noJob     = "the program is alone"
	noControl = "the program's settings cannot be changed"
	noModes   = "this system has no such modes"
	noParts   = "the program sent no snapshot"
	noBatches = "the program sent no steps in batches"
	cached    = "the program has a caching allocator"
)

// rules are all of them, in the order of the page.
var rules = []Rule{
	{"S1", "socket.http", "a probe speaks HTTP/1.1", ""},
	{"S2", "socket.name", "the socket is called <pid>-<start time>.sock", noModes},
	{"S3", "socket.folder", "its folder is the program's user's own, mode 0700", noModes},
	{"S3", "socket.mode", "the socket has mode 0600", noModes},

	{"S5", "http.capabilities", "what the capabilities name is served", ""},
	{"S5", "http.unknown", "parameters that are not known are ignored", ""},
	{"S6", "http.400", "what makes no sense is refused with 400", ""},
	{"S6", "http.404", "what is not there is refused with 404", ""},
	{"S6", "http.405", "another method is refused with 405, and Allow", ""},
	{"S6", "http.413", "a body that is too large is refused with 413", noControl},
	{"S6", "http.error", "a refusal is a JSON object with one line of error", ""},
	{"S8", "http.survives", "the program goes on after all that", ""},

	{"R1 S7", "info.json", "/v1/info is one JSON object of at most 64 KiB", ""},
	{"I1", "info.fields", "its fields have the names and types of the page", ""},
	{"I1", "info.hello", "it says of the program what hello says", ""},
	{"I1", "info.rank", "rank is one of its job's, and is what hello says", noJob},
	{"I1", "info.viewers", "viewers is how many streams are open", ""},
	{"I2", "info.devices", "its devices ascend, there is one at least, and no size is negative", ""},
	{"I2", "info.memory", "its bytes are those that the stream leads to", noEvents},
	{"I3", "info.step", "step is the last step, and last_step says what it took", noSteps},
	{"I4", "info.sums", "what is counted since the begin never shrinks", ""},
	{"I6", "info.box", "black_box has a path, or the reason why there is none", "the program wants no box"},

	{"R2 S7", "stream.answer", "/v1/stream is a stream", ""},
	{"F1", "stream.header", "a stream begins with its header", ""},
	{"S9", "stream.interval", "the interval is held between 50 ms and a minute", ""},
	{"S12", "stream.past", "with ?past a stream begins earlier, where that is known", ""},
	{"S11", "stream.checksum", "the header names the checksum that was asked for, or CRC-32C", ""},
	{"O1", "stream.hello-first", "hello is first, and comes once", ""},
	{"O4", "stream.counters", "counters end a batch at least every second or interval", ""},
	{"O6", "stream.bye", "bye is last, and no stream ends without it", "the program goes on"},
	{"O6", "stream.goes-on", "a stream lasts as long as its viewer reads", ""},
	{"O7", "stream.begin", "the first batch has the whole state", ""},

	{"F2 F7", "frame.form", "a frame has a type, a length of at most 16 MiB and a payload", ""},
	{"F5", "frame.checksum", "a frame ends with the checksum of what is before it", ""},
	{"T1", "table.entries", "a table's payload is whole entries", "no table came"},
	{"O2 T2", "table.numbers", "a number that is referred to came in a table before", ""},

	{"B6", "base.layout", "a base has the layout of the page", "no base came"},
	{"B1", "base.device", "a base is of a device of hello", "no base came"},
	{"B2", "base.same", "a base where no event is missing is what the events led to", "no second base came"},
	{"B3", "base.missed", "missed is how many events a base stands for", "no base came"},
	{"B4", "base.segments", "segments ascend and do not overlap", "no base came"},
	{"B5", "base.blocks", "blocks follow each other and lie in their segment", "no base came"},

	{"E6", "events.layout", "a frame of events has the layout of the page", noEvents},
	{"O3", "events.first", "events come after a base, and without a hole", noEvents},
	{"E1", "events.most", "a frame has at most 65,536 events", noEvents},
	{"E2", "events.time", "times are microseconds since 1970, and do not go back", noEvents},
	{"E3", "events.live", "events are about memory that is as they say", noEvents},
	{"A1 A2 A3 A4 A5 A6 A7", "events.play", "events played forward by the rules fit the memory", noEvents},
	{"S10 E5", "events.slack", "slack is sent to who reads minor version 1, and to no other", "no event had any"},

	{"N1 N2", "uncached.events", "without a caching allocator there are no segment events", cached},
	{"N3", "uncached.sizes", "what is live has bytes, and does not overlap", cached},
	{"N4", "uncached.base", "a base has a segment with one block for each allocation", cached},

	{"P1", "parts.order", "parts of a snapshot fall to 0, and are not too many", noParts},
	{"P2", "parts.pickle", "the parts are one whole pickle of PyTorch's", noParts},
	{"P5", "parts.devices", "a device that comes by snapshots has no base and no events", noParts},
	{"P6", "parts.tags", "tags name a device, addresses and notes", "no tags came"},

	{"K1", "steps.layout", "a frame of steps has the layout of the page", noBatches},
	{"K1", "steps.same", "steps in batches are those of the messages", noBatches},
	{"K2", "steps.most", "a frame has at most 4,096 steps and 1 MiB", noBatches},
	{"S10 K3", "steps.asked", "steps in batches are sent to who reads minor version 2, and to no other", noBatches},

	{"M1", "message.json", "a message is one JSON value with fields of the page's types", ""},
	{"M2", "message.most", "a message has at most 4 MiB", ""},
	{"M3", "message.hello", "hello says who is talking", ""},
	{"M4", "message.settings", "after settings come bases of all devices", "the allocator's settings did not change"},
	{"M5", "message.step", "steps ascend, say when they ended, and have peaks that are peaks", noSteps},
	{"O5", "message.step-after", "a step comes after its events", noSteps},
	{"M6", "message.counters", "counters are sums that never shrink", ""},
	{"M7", "message.options", "each key of options comes once, and has choices or is free", noControl},
	{"C2", "message.change", "a change is pending, then applied or refused", "there was no change"},
	{"M8", "message.gauges", "gauges say when, and -1 for what is not known", "the program has no gauges"},

	{"R4", "snapshot.pickle", "/v1/snapshot is a pickle as PyTorch writes it", "the program has none"},
	{"R4", "snapshot.memory", "a snapshot has the memory that the stream leads to", "the program has none"},
	{"R5", "settings.answer", "/v1/settings is a JSON object with options and changes", noControl},
	{"R6", "settings.set", "a change is answered with that change, and no other", noControl},
	{"C1", "settings.holder", "one viewer at a time changes settings; another gets 409", noControl},
	{"C1", "settings.released", "the right to change ends with the holder's last stream", noControl},
	{"C1", "settings.name", "Memtop-Viewer has up to 64 printable ASCII characters", ""},
	{"C4", "settings.at", "a change at a step that has begun is refused, and any with 400 where steps cannot be named", noControl},
	{"C3", "settings.read-only", "changes of a read-only program are refused with 403", "the program is not read-only"},
	{"R7", "prediction.answer", "/v1/prediction says what a value would change, or null", noControl},
	{"R7", "prediction.refused", "a prediction of nothing is refused with 400", noControl},
}

// unseeable are the rules of the page that no viewer can check, with the reason.
var unseeable = map[string]string{
	"S4": "it takes another user to be refused; memtop's side of it is asked before a byte is sent",
	"F3": "it is about readers", "F4": "it is about readers", "F6": "it is about who records",
	"I5":  "it is about who asks",
	"S13": "a probe may start with a fresh state, and does if it no longer keeps the place",
	"O8":  "a viewer would have to fall behind by a quarter of a million events",
	"T3":  "only the program knows what its memory is for",
	"E4":  "only the program knows the pool", "A8": "it is about readers",
	"P3": "only PyTorch knows its memory", "P4": "a gap is seen, and not whose fault it is",
}

// labelled returns the name of the first rule with a label.
func labelled(label string) string {
	for i := range rules {
		if strings.Contains(" "+rules[i].Labels+" ", " "+label+" ") {
			return rules[i].Name
		}
	}
	panic("conformance: there is no rule " + label)
}
