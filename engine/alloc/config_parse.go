package alloc

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// ConfigError says which of the allocator's settings is wrong, and why.
type ConfigError struct {
	Key    string // the setting, "" when unknown
	Reason string
}

// Error is one line.
func (e *ConfigError) Error() string {
	if e.Key == "" {
		return "allocator settings: " + e.Reason
	}
	return "allocator settings: " + e.Key + ": " + e.Reason
}

// parser walks the tokens of a settings text: words and the marks , : [ ].
type parser struct {
	tokens []string
	at     int
	key    string
	c      config
	rules  Rules
}

// parseConfig returns c changed by text, as a release reads it.
func (r Rules) parseConfig(c config, text string) (config, error) {
	d := defaultConfig()
	c.text, c.MaxSplit, c.gcThreshold, c.Divisions, c.fraction = text, d.MaxSplit, d.gcThreshold, d.Divisions, d.fraction
	p := &parser{tokens: tokens(text), c: c, rules: r}
	for p.at < len(p.tokens) {
		if err := p.setting(); err != nil {
			return config{}, err
		}
		if p.at == len(p.tokens) {
			break
		}
		if err := p.mark(","); err != nil {
			return config{}, err
		}
	}
	return p.c, nil
}

// tokens splits a text. Blanks mean nothing, even inside of words.
func tokens(text string) []string {
	var list []string
	for text = strings.ReplaceAll(text, " ", ""); text != ""; {
		n := strings.IndexAny(text, ",:[]")
		switch n {
		case -1:
			n = len(text)
		case 0:
			n = 1
		}
		list = append(list, text[:n])
		text = text[n:]
	}
	return list
}

func (p *parser) fail(format string, values ...any) error {
	return &ConfigError{Key: p.key, Reason: fmt.Sprintf(format, values...)}
}

// next returns the next token, "" at the end.
func (p *parser) next() string {
	if p.at == len(p.tokens) {
		return ""
	}
	p.at++
	return p.tokens[p.at-1]
}

func (p *parser) mark(want string) error {
	if got := p.next(); got != want {
		if got == "" {
			return p.fail("expected %q, found the end", want)
		}
		return p.fail("expected %q, found %q", want, got)
	}
	return nil
}

// setting reads one key with its value.
func (p *parser) setting() error {
	p.key = ""
	key := p.next()
	read, ok := readers[key]
	if !ok {
		return p.fail("unknown setting %q", key)
	}
	if !p.rules.knows(key) {
		return p.fail("PyTorch %s does not know the setting %q, 2.%d is the first that does", p.rules, key, since[key])
	}
	p.key = key
	if err := p.mark(":"); err != nil {
		return err
	}
	return read(p)
}

// readers has one entry per setting.
var readers = map[string]func(p *parser) error{
	"backend":                      (*parser).backend,
	"max_split_size_mb":            func(p *parser) error { return p.megabytes(&p.c.MaxSplit, 21) },
	"max_non_split_rounding_mb":    func(p *parser) error { return p.megabytes(&p.c.maxNonSplit, 21) },
	"large_segment_size_mb":        func(p *parser) error { return p.megabytes(&p.c.LargeSegment, 10) },
	"garbage_collection_threshold": (*parser).threshold,
	"per_process_memory_fraction":  (*parser).fraction,
	"roundup_power2_divisions":     (*parser).roundup,
	"expandable_segments":          func(p *parser) error { return p.truth(&p.c.Expandable) },
	"release_lock_on_cudamalloc":   func(p *parser) error { return p.truth(&p.c.releaseLock) },
	"release_lock_on_hipmalloc":    func(p *parser) error { return p.truth(&p.c.releaseLock) },

	"throw_on_cudamalloc_oom":     func(p *parser) error { return p.truth(&p.c.rejects) },
	"expandable_segments_reserve": func(p *parser) error { return p.reserve(&p.c.reserve) },

	"expandable_segments_reserve_by_class": (*parser).reserves,

	"graph_capture_record_stream_reuse": func(p *parser) error { return p.truth(&p.c.captureReuse) },
	"pinned_use_cuda_host_register":     func(p *parser) error { return p.truth(&p.c.pinnedRegister) },
	"pinned_use_hip_host_register":      func(p *parser) error { return p.truth(&p.c.pinnedRegister) },
	"pinned_use_background_threads":     func(p *parser) error { return p.truth(new(bool)) },
	"pinned_num_register_threads":       (*parser).threads,
	"pinned_reserve_segment_size_mb":    func(p *parser) error { return p.megabytes(new(int64), 1) },
	"pinned_free_catch_all":             func(p *parser) error { return p.truth(new(bool)) },
	"pinned_max_round_threshold_mb":     func(p *parser) error { return p.megabytes(new(int64), 0) },
	"pinned_max_cached_size_mb":         func(p *parser) error { return p.megabytes(new(int64), 0) },
}

func (p *parser) backend() error {
	if got := p.next(); got != "native" {
		return p.fail("this allocator is native, not %q", got)
	}
	return nil
}

func (p *parser) truth(to *bool) error {
	switch got := p.next(); got {
	case "True":
		*to = true
	case "False":
		*to = false
	default:
		return p.fail("expected True or False, found %q", got)
	}
	return nil
}

func (p *parser) number() (int64, error) {
	got := p.next()
	n, err := strconv.ParseInt(got, 10, 64)
	if err != nil || n < 0 {
		return 0, p.fail("expected a whole number, found %q", got)
	}
	return n, nil
}

func (p *parser) megabytes(to *int64, least int64) error {
	n, err := p.number()
	if err != nil {
		return err
	}
	if n < least {
		return p.fail("%d is too small, at least %d is needed", n, least)
	}
	*to = min(n, math.MaxInt64>>20) << 20
	return nil
}

func (p *parser) decimal() (float64, error) {
	got := p.next()
	f, err := strconv.ParseFloat(got, 64)
	if err != nil || math.IsNaN(f) {
		return 0, p.fail("expected a number, found %q", got)
	}
	return f, nil
}

// reserve reads "0.5" or "40G". PyTorch warns of others and ignores them.
func (p *parser) reserve(to *reserve) error {
	got := p.next()
	number, gib := strings.CutSuffix(strings.ToUpper(got), "G")
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f > 0) || math.IsInf(f, 0) || strings.ContainsAny(number, "X_") {
		return p.fail("expected a part of the memory like 0.5 or a size like 40G, found %q", got)
	}
	*to = reserve{f, gib}
	return nil
}

// reserves reads "[class:0.5,class:40G]". A program gives classes to its streams
// by PyTorch's C++, and nothing records them.
func (p *parser) reserves() error {
	if err := p.mark("["); err != nil {
		return err
	}
	for {
		switch class := p.next(); class {
		case "]":
			return nil
		case "":
			return p.fail("expected \"]\", found the end")
		case ",":
		default:
			if err := p.mark(":"); err != nil {
				return err
			}
			if err := p.reserve(new(reserve)); err != nil {
				return err
			}
		}
	}
}

func (p *parser) threshold() error {
	f, err := p.decimal()
	if err != nil {
		return err
	}
	if f <= 0 || f >= 1 {
		return p.fail("%g is not between 0 and 1", f)
	}
	p.c.gcThreshold = f
	return nil
}

func (p *parser) fraction() error {
	f, err := p.decimal()
	if err != nil {
		return err
	}
	if f < 0 || f > 1 {
		return p.fail("%g is not within 0 and 1", f)
	}
	p.c.fraction = f
	return nil
}

func (p *parser) threads() error {
	n, err := p.number()
	if err != nil {
		return err
	}
	if bits.OnesCount64(uint64(n)) != 1 || n > 128 {
		return p.fail("%d is not a power of two up to 128", n)
	}
	p.c.pinnedThreads = n
	return nil
}
