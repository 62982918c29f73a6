package analysis

// For the tests of what is reported of a trace.
var (
	Nonsense  = nonsense
	Breathing = breathing
	Look      = look
)
