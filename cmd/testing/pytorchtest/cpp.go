package pytorchtest

import (
	"encoding/binary"
	"fmt"
	"math"
)

// CPPPickle returns the pickle of v as PyTorch's C++ pickler writes it: always
// protocol 2, integers beyond 32 bits in eight bytes, addresses cast to signed
// ones, lists and dicts in the memo only when they are used twice and then
// after they are filled. With tags, every list and dict goes through
// restore_type_tag, as torch_npu calls that pickler.
func CPPPickle(v any, tags bool) []byte {
	p := &cppPickler{tags: tags, uses: map[any]int{}, memo: map[any]int{}, out: []byte{0x80, 2}}
	p.count(v)
	p.save(v)
	p.out = append(p.out, '.')
	return p.out
}

type cppPickler struct {
	tags bool
	uses map[any]int
	memo map[any]int
	next int
	out  []byte
}

// count notes how often every list and dict is used.
func (p *cppPickler) count(v any) {
	switch v := v.(type) {
	case *List:
		if p.uses[v]++; p.uses[v] == 1 {
			for _, item := range v.Items {
				p.count(item)
			}
		}
	case *Dict:
		if p.uses[v]++; p.uses[v] == 1 {
			for _, item := range v.Items {
				p.count(item.Value)
			}
		}
	}
}

func (p *cppPickler) save(v any) {
	switch v := v.(type) {
	case nil:
		p.out = append(p.out, 'N')
	case bool:
		if v {
			p.out = append(p.out, 0x88)
		} else {
			p.out = append(p.out, 0x89)
		}
	case int64:
		p.saveInt(v)
	case uint64:
		p.saveInt(int64(v))
	case float64:
		p.out = binary.BigEndian.AppendUint64(append(p.out, 'G'), math.Float64bits(v))
	case string:
		p.saveString(v)
	case Fresh:
		p.saveString(string(v))
	case Tuple:
		p.saveTuple(v)
	case *List:
		p.shared(v, "List[Any]", func() {
			p.out = append(p.out, ']', '(')
			for _, item := range v.Items {
				p.save(item)
			}
			p.out = append(p.out, 'e')
		})
	case *Dict:
		p.shared(v, "Dict[str, Any]", func() {
			p.out = append(p.out, '}', '(')
			for _, item := range v.Items {
				p.save(item.Key)
				p.save(item.Value)
			}
			p.out = append(p.out, 'u')
		})
	case Raw:
		p.out = append(p.out, v...)
	default:
		panic(fmt.Sprintf("pytorchtest: no pickle for a %T", v))
	}
}

func (p *cppPickler) saveInt(n int64) {
	switch {
	case n >= 0 && n <= 0xff:
		p.out = append(p.out, 'K', byte(n))
	case n >= 0 && n <= 0xffff:
		p.out = binary.LittleEndian.AppendUint16(append(p.out, 'M'), uint16(n))
	case n == int64(int32(n)):
		p.out = binary.LittleEndian.AppendUint32(append(p.out, 'J'), uint32(n))
	default:
		p.out = binary.LittleEndian.AppendUint64(append(p.out, 0x8a, 8), uint64(n))
	}
}

func (p *cppPickler) saveString(s string) {
	if p.recall(s) {
		return
	}
	p.out = binary.LittleEndian.AppendUint32(append(p.out, 'X'), uint32(len(s)))
	p.out = append(p.out, s...)
	p.memoize(s)
}

func (p *cppPickler) saveTuple(t Tuple) {
	switch len(t) {
	case 0:
		p.out = append(p.out, ')')
		return
	case 1, 2, 3:
		for _, item := range t {
			p.save(item)
		}
		p.out = append(p.out, 0x84+byte(len(t)))
	default:
		p.out = append(p.out, '(')
		for _, item := range t {
			p.save(item)
		}
		p.out = append(p.out, 't')
	}
}

// shared writes a container, or a reference to one that was written before.
func (p *cppPickler) shared(key any, tag string, write func()) {
	if p.recall(key) {
		return
	}
	if p.tags && !p.recall(restoreTypeTag) {
		p.out = append(p.out, restoreTypeTag...)
		p.memoize(restoreTypeTag)
	}
	write()
	if p.tags {
		p.saveString(tag)
		p.out = append(p.out, 0x86, 'R')
	}
	if p.uses[key] > 1 {
		p.memoize(key)
	}
}

const restoreTypeTag = "ctorch.jit._pickle\nrestore_type_tag\n"

func (p *cppPickler) memoize(key any) {
	p.memo[key] = p.next
	p.put('q', 'r', p.next)
	p.next++
}

func (p *cppPickler) recall(key any) bool {
	at, ok := p.memo[key]
	if ok {
		p.put('h', 'j', at)
	}
	return ok
}

func (p *cppPickler) put(short, long byte, at int) {
	if at < 256 {
		p.out = append(p.out, short, byte(at))
	} else {
		p.out = binary.LittleEndian.AppendUint32(append(p.out, long), uint32(at))
	}
}
