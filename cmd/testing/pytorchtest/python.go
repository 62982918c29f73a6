package pytorchtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// PythonPickle returns the pickle of v in the given protocol, 0 to 5, byte for
// byte as CPython's C pickler writes it.
func PythonPickle(v any, protocol int) []byte {
	p := &pickler{protocol: protocol, memo: map[any]int{}, frame: -1}
	if protocol >= 2 {
		p.out = append(p.out, 0x80, byte(protocol))
	}
	p.save(v)
	p.write(".")
	p.closeFrame()
	return p.out
}

type pickler struct {
	protocol int
	cpp      *cpp // nil is CPython's
	out      []byte
	memo     map[any]int // strings by value, lists and dicts by pointer
	next     int
	frame    int // where the open frame's header is, or −1
}

const (
	frameTarget = 64 << 10
	frameHeader = 9
	pythonBatch = 1000
)

func (p *pickler) write(s string) {
	if p.protocol >= 4 && p.frame < 0 {
		p.frame = len(p.out)
		p.out = append(p.out, make([]byte, frameHeader)...)
	}
	p.out = append(p.out, s...)
}

func (p *pickler) closeFrame() {
	if p.frame < 0 {
		return
	}
	body := p.out[p.frame+frameHeader:]
	if len(body) < 4 { // too short to be worth a header
		p.out = append(p.out[:p.frame], body...)
	} else {
		p.out[p.frame] = 0x95
		binary.LittleEndian.PutUint64(p.out[p.frame+1:], uint64(len(body)))
	}
	p.frame = -1
}

func (p *pickler) save(v any) {
	if p.frame >= 0 && len(p.out)-p.frame-frameHeader >= frameTarget {
		p.closeFrame()
	}
	switch v := v.(type) {
	case nil:
		p.write("N")
	case bool:
		p.saveBool(v)
	case int64:
		p.saveInt(v)
	case uint64:
		p.saveUint(v)
	case float64:
		p.saveFloat(v)
	case string:
		p.saveString(v, true)
	case Fresh:
		p.saveString(string(v), len(v) <= 1 || p.cpp != nil)
	case Raw:
		p.write(string(v))
	case Tuple:
		p.saveTuple(v)
	case *List:
		p.saveList(v)
	case *Dict:
		p.saveDict(v)
	default:
		panic(fmt.Sprintf("pytorchtest: no pickle for a %T", v))
	}
}

func (p *pickler) saveBool(v bool) {
	names := [2]string{"I00\n", "I01\n"}
	if p.protocol >= 2 {
		names = [2]string{"\x89", "\x88"}
	}
	if v {
		p.write(names[1])
	} else {
		p.write(names[0])
	}
}

func (p *pickler) saveInt(n int64) {
	switch {
	case n != int64(int32(n)):
		p.saveLong(n)
	case p.protocol == 0:
		p.write(fmt.Sprintf("I%d\n", n))
	case n >= 0 && n <= 0xff:
		p.write("K" + string([]byte{byte(n)}))
	case n >= 0 && n <= 0xffff:
		p.write("M" + string(binary.LittleEndian.AppendUint16(nil, uint16(n))))
	default:
		p.write("J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n))))
	}
}

func (p *pickler) saveLong(n int64) {
	if p.protocol < 2 {
		p.write(fmt.Sprintf("L%dL\n", n))
		return
	}
	bytes := binary.LittleEndian.AppendUint64(nil, uint64(n))
	for len(bytes) > 1 && p.cpp == nil {
		last, before := bytes[len(bytes)-1], bytes[len(bytes)-2]
		if last == 0 && before < 0x80 || last == 0xff && before >= 0x80 {
			bytes = bytes[:len(bytes)-1]
			continue
		}
		break
	}
	p.write("\x8a" + string([]byte{byte(len(bytes))}) + string(bytes))
}

func (p *pickler) saveUint(n uint64) {
	switch {
	case n <= math.MaxInt64 || p.cpp != nil:
		p.saveInt(int64(n))
	case p.protocol < 2:
		p.write(fmt.Sprintf("L%dL\n", n))
	default:
		p.write("\x8a\x09" + string(binary.LittleEndian.AppendUint64(nil, n)) + "\x00")
	}
}

func (p *pickler) saveFloat(f float64) {
	if p.protocol > 0 {
		p.write("G" + string(binary.BigEndian.AppendUint64(nil, math.Float64bits(f))))
		return
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	p.write("F" + text + "\n")
}

func (p *pickler) saveString(s string, shared bool) {
	if shared && p.recall(s) {
		return
	}
	switch n := len(s); {
	case p.protocol == 0:
		p.write("V" + rawEscape(s) + "\n")
	case p.protocol >= 4 && n < 256:
		p.write("\x8c" + string([]byte{byte(n)}) + s)
	default:
		p.write("X" + string(binary.LittleEndian.AppendUint32(nil, uint32(n))) + s)
	}
	if shared {
		p.memoize(s)
	} else {
		p.memoize(nil)
	}
}

// rawEscape is Python's raw-unicode-escape, with what would end the line or
// begin an escape escaped too.
func rawEscape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\' || r == 0 || r == '\n' || r == '\r' || r == 0x1a || r > 0xff && r <= 0xffff:
			fmt.Fprintf(&b, "\\u%04x", r)
		case r > 0xffff:
			fmt.Fprintf(&b, "\\U%08x", r)
		default:
			b.WriteByte(byte(r))
		}
	}
	return b.String()
}

// memoize gives the value written last the next memo entry. A nil key is a
// value that is never referred to.
func (p *pickler) memoize(key any) {
	if key != nil {
		p.memo[key] = p.next
	}
	switch at := p.next; {
	case p.protocol >= 4:
		p.write("\x94")
	case p.protocol == 0:
		p.write(fmt.Sprintf("p%d\n", at))
	case at < 256:
		p.write("q" + string([]byte{byte(at)}))
	default:
		p.write("r" + string(binary.LittleEndian.AppendUint32(nil, uint32(at))))
	}
	p.next++
}

func (p *pickler) recall(key any) bool {
	at, ok := p.memo[key]
	switch {
	case !ok:
		return false
	case p.protocol == 0:
		p.write(fmt.Sprintf("g%d\n", at))
	case at < 256:
		p.write("h" + string([]byte{byte(at)}))
	default:
		p.write("j" + string(binary.LittleEndian.AppendUint32(nil, uint32(at))))
	}
	return true
}

func (p *pickler) saveTuple(t Tuple) {
	switch {
	case len(t) == 0 && p.protocol >= 1:
		p.write(")")
		return
	case len(t) == 0:
		p.write("(t")
		return
	case len(t) <= 3 && p.protocol >= 2:
		for _, item := range t {
			p.save(item)
		}
		p.write(string([]byte{0x84 + byte(len(t))}))
	default:
		p.write("(")
		for _, item := range t {
			p.save(item)
		}
		p.write("t")
	}
	if p.cpp == nil {
		p.memoize(nil)
	}
}

func (p *pickler) saveList(l *List) {
	p.container(l, "List[Any]", [4]string{"]", "(l", "a", "e"}, len(l.Items), func(i int) { p.save(l.Items[i]) })
}

func (p *pickler) saveDict(d *Dict) {
	p.container(d, "Dict[str, Any]", [4]string{"}", "(d", "s", "u"}, len(d.Items), func(i int) {
		p.save(d.Items[i].Key)
		p.save(d.Items[i].Value)
	})
}

// container writes a list or a dict, or a reference to one that was written before. The
// opcodes are of an empty one, as old protocols make it too, of one item and of many.
func (p *pickler) container(key any, tag string, opcodes [4]string, n int, item func(i int)) {
	switch {
	case p.recall(key):
	case p.cpp != nil:
		p.cppContainer(key, tag, opcodes, n, item)
	default:
		p.begin(key, opcodes[0], opcodes[1])
		p.batches(n, opcodes[2], opcodes[3], item)
	}
}

// begin writes an empty container, which old protocols make from a mark.
func (p *pickler) begin(key any, empty, old string) {
	if p.protocol == 0 {
		empty = old
	}
	p.write(empty)
	p.memoize(key)
}

func (p *pickler) batches(n int, one, many string, item func(i int)) {
	if p.protocol == 0 || n == 1 {
		for i := range n {
			item(i)
			p.write(one)
		}
		return
	}
	for from := 0; from < n; from += pythonBatch {
		p.write("(")
		for i := from; i < min(n, from+pythonBatch); i++ {
			item(i)
		}
		p.write(many)
	}
}
