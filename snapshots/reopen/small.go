package reopen

import (
	"math"

	"github.com/memtop/memtop/snapshots/trace"
)

func (p *packer) info(i *trace.Info) {
	p.text(i.Kind)
	p.text(i.Container)
	p.number(int64(i.PickleProtocol))
	p.number(i.Bytes)
	p.text(i.Writer)
	p.flag(i.List)
	p.flag(i.NoTraces)
	p.number(int64(i.TraceLists))
	p.flag(i.Truncated)
}

func (u *unpacker) info() trace.Info {
	return trace.Info{
		Kind: u.text(), Container: u.text(), PickleProtocol: int(u.number()), Bytes: u.number(), Writer: u.text(),
		List: u.flag(), NoTraces: u.flag(), TraceLists: int(u.number()), Truncated: u.flag(),
	}
}

func (p *packer) texts(all []string) {
	p.number(int64(len(all)))
	for _, s := range all {
		p.text(s)
	}
}

func (u *unpacker) texts() []string {
	n := u.count()
	if n == 0 {
		return nil
	}
	all := make([]string, 0, n)
	for range n {
		all = append(all, u.text())
	}
	return all
}

// The kinds of a setting's value.
const (
	noValue = iota
	boolValue
	intValue
	floatValue
	textValue
	listValue
	treeValue
)

// deepest is how deep settings may be nested.
const deepest = 64

func (p *packer) settings(all []trace.Setting) {
	p.number(int64(len(all)))
	for _, s := range all {
		p.text(s.Key)
		p.value(s.Value)
	}
}

// value packs a setting's value; the kinds are those of [trace.Setting].
func (p *packer) value(v any) {
	switch v := v.(type) {
	case bool:
		p.number(boolValue)
		p.flag(v)
	case int64:
		p.number(intValue)
		p.number(v)
	case float64:
		p.number(floatValue)
		p.number(int64(math.Float64bits(v)))
	case string:
		p.number(textValue)
		p.text(v)
	case []any:
		p.number(listValue)
		p.number(int64(len(v)))
		for _, item := range v {
			p.value(item)
		}
	case []trace.Setting:
		p.number(treeValue)
		p.settings(v)
	default:
		p.number(noValue)
	}
}

func (u *unpacker) settings(depth int) []trace.Setting {
	var all []trace.Setting
	for range u.count() {
		if u.bad {
			return nil
		}
		all = append(all, trace.Setting{Key: u.text(), Value: u.value(depth + 1)})
	}
	return all
}

func (u *unpacker) value(depth int) any {
	if depth > deepest {
		u.bad, u.b = true, nil
	}
	switch u.number() {
	case boolValue:
		return u.flag()
	case intValue:
		return u.number()
	case floatValue:
		return math.Float64frombits(uint64(u.number()))
	case textValue:
		return u.text()
	case listValue:
		all := []any{}
		for range u.count() {
			if u.bad {
				return nil
			}
			all = append(all, u.value(depth+1))
		}
		return all
	case treeValue:
		return u.settings(depth)
	default:
		return nil
	}
}
