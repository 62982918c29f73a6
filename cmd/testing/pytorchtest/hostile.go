package pytorchtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Hostile returns harmful and malformed pickles, by a name that says what they
// do. A decoder must refuse each, at once and in little memory. If a pickle is
// made to run code, pickle.load would call print.
func Hostile() map[string][]byte {
	all := map[string][]byte{}
	for _, group := range []map[string]string{codeRunning(), declaredLengths(), brokenMemos(), brokenStacks(), otherData()} {
		for name, pickle := range group {
			all[name] = []byte(pickle)
		}
	}
	return all
}

const protocol4 = "\x80\x04"

func codeRunning() map[string]string {
	const text = "\x8c\x05print"
	return map[string]string{
		"GLOBAL and REDUCE":            "\x80\x02cbuiltins\nprint\n(X\x02\x00\x00\x00hitR.",
		"GLOBAL alone":                 "cos\nsystem\n.",
		"GLOBAL in a snapshot":         "\x80\x02}X\x08\x00\x00\x00segmentscbuiltins\nprint\n(tRs.",
		"GLOBAL like the tag function": "\x80\x02ctorch.jit._pickle\nbuild_intlist\n]\x85R.",
		"STACK_GLOBAL and REDUCE":      protocol4 + "\x8c\x08builtins" + text + "\x93\x8c\x02hi\x85R.",
		"INST":                         "(S'hi'\nibuiltins\nprint\n.",
		"OBJ":                          "(cbuiltins\nprint\nX\x02\x00\x00\x00hio.",
		"OBJ without a name":           "(X\x02\x00\x00\x00hio.",
		"NEWOBJ":                       "\x80\x02cbuiltins\nobject\n)\x81.",
		"NEWOBJ without a name":        "\x80\x02])\x81.",
		"NEWOBJ_EX":                    protocol4 + "\x8c\x08builtins\x8c\x06object\x93)}\x92.",
		"NEWOBJ_EX without a name":     protocol4 + "])}\x92.",
		"REDUCE without a name":        "\x80\x02](tR.",
		"REDUCE of the tag's result":   "\x80\x02ctorch.jit._pickle\nrestore_type_tag\n]K\x01\x86R)R.",
		"REDUCE of no arguments":       "\x80\x02ctorch.jit._pickle\nrestore_type_tag\n)R.",
		"BUILD":                        "\x80\x02}}b.",
		"BUILD of an object":           "ccollections\nOrderedDict\n)R}b.",
		"EXT1":                         "\x80\x02\x82\x01.",
		"EXT2":                         "\x80\x02\x83\x01\x00.",
		"EXT4":                         "\x80\x02\x84\x01\x00\x00\x00.",
		"PERSID":                       "Pfile\n.",
		"BINPERSID":                    "\x80\x02X\x04\x00\x00\x00fileQ.",
		"NEXT_BUFFER":                  "\x80\x05\x97.",
		"READONLY_BUFFER":              "\x80\x05C\x02hi\x98.",
	}
}

func declaredLengths() map[string]string {
	le := func(n uint64, width int) string {
		return string(binary.LittleEndian.AppendUint64(nil, n)[:width])
	}
	all := map[string]string{
		"BINUNICODE of 2^32-1 bytes": protocol4 + "X" + le(1<<32-1, 4) + "a.",
		"BINSTRING of 2^31-1 bytes":  protocol4 + "T" + le(1<<31-1, 4) + "a.",
		"BINSTRING of -1 bytes":      protocol4 + "T" + le(1<<32-1, 4) + "a.",
		"BINBYTES of 2^31 bytes":     protocol4 + "B" + le(1<<31, 4) + "a.",
		"LONG4 of 2^31-1 bytes":      protocol4 + "\x8b" + le(1<<31-1, 4) + "a.",
		"LONG4 of -2^31 bytes":       protocol4 + "\x8b" + le(1<<31, 4) + "a.",
	}
	for name, op := range map[string]string{"BINUNICODE8": "\x8d", "BINBYTES8": "\x8e", "BYTEARRAY8": "\x96"} {
		for power, n := range map[string]uint64{"2^31": 1 << 31, "2^63": 1 << 63, "2^64-1": 1<<64 - 1} {
			all[fmt.Sprintf("%s of %s bytes", name, power)] = "\x80\x05" + op + le(n, 8) + "a."
		}
	}
	return all
}

func brokenMemos() map[string]string {
	return map[string]string{
		"BINGET of nothing":           protocol4 + "h\x00.",
		"LONG_BINGET of nothing":      protocol4 + "j\xff\xff\xff\xff.",
		"GET of nothing":              "g7\n.",
		"GET of no number":            "gx\n.",
		"GET of a negative number":    "g-1\n.",
		"PUT of no number":            "]px\n.",
		"PUT beyond 32 bits":          "]p99999999999999999999\n.",
		"MEMOIZE of nothing":          protocol4 + "\x94.",
		"BINPUT of nothing":           "\x80\x02q\x00.",
		"LONG_BINPUT of a mark":       "\x80\x02(r\x00\x00\x00\x00.",
		"a list that contains itself": protocol4 + "]\x94h\x00a.",
		"a dict that contains itself": protocol4 + "}\x94\x8c\x04selfh\x00s.",
		"segments in themselves":      protocol4 + "}\x8c\x08segments]\x94(h\x00h\x00h\x00esK\x00.",
		"a laughing billion":          laughs("]", "(", "e"),
		"a laughing billion of dicts": laughs("}", "(", "u"),
		"a laughing billion of pairs": protocol4 + "K\x01" + strings.Repeat("2\x86", 10_000) + ".",
	}
}

// laughs is a container that holds the one before it ten times over, thirty
// times.
func laughs(empty, mark, end string) string {
	var b strings.Builder
	b.WriteString(protocol4 + empty + "\x94")
	for depth := range 30 {
		b.WriteString(empty + mark)
		for i := range 10 {
			if end == "u" {
				fmt.Fprintf(&b, "K%c", i)
			}
			b.WriteString("h")
			b.WriteByte(byte(depth))
		}
		b.WriteString(end + "\x94")
	}
	b.WriteString(".")
	return b.String()
}

func brokenStacks() map[string]string {
	return map[string]string{
		"STOP at once":                   protocol4 + ".",
		"APPEND to nothing":              protocol4 + "]a.",
		"APPEND to a number":             protocol4 + "K\x01K\x02a.",
		"APPENDS without a mark":         protocol4 + "]]e.",
		"APPENDS to nothing":             protocol4 + "(K\x01e.",
		"APPENDS to a string":            protocol4 + "\x8c\x01x(K\x01e.",
		"SETITEM on nothing":             protocol4 + "K\x01K\x02s.",
		"SETITEM on a list":              protocol4 + "]K\x01K\x02s.",
		"SETITEMS of an odd number":      protocol4 + "}(K\x01u.",
		"SETITEMS without a mark":        protocol4 + "}K\x01K\x02u.",
		"SETITEMS below the mark":        protocol4 + "(u.",
		"DICT of an odd number":          "(K\x01d.",
		"LIST without a mark":            "l.",
		"TUPLE without a mark":           "t.",
		"TUPLE1 of nothing":              protocol4 + "\x85.",
		"TUPLE2 across a mark":           protocol4 + "K\x01(K\x02\x86.",
		"TUPLE3 of two":                  protocol4 + "K\x01K\x02\x87.",
		"POP of nothing":                 "0.",
		"POP_MARK without a mark":        protocol4 + "K\x011.",
		"DUP of nothing":                 "2.",
		"an opcode that does not exist":  protocol4 + "\xff.",
		"a null byte as an opcode":       protocol4 + "\x00.",
		"a protocol that does not exist": "\x80\x06}.",
		"an integer that is none":        "Iten\n.",
		"a long that is none":            "L1xL\n.",
		"a float that is none":           "Fpoint\n.",
		"a string without quotes":        "Shello\n.",
		"10,000 nested lists":            protocol4 + strings.Repeat("]", 10_000) + strings.Repeat("a", 9_999) + ".",
		"10,000 nested dicts":            protocol4 + strings.Repeat("}K\x00", 9_999) + "}" + strings.Repeat("s", 9_999) + ".",
		"10,000 nested tuples":           protocol4 + ")" + strings.Repeat("\x85", 10_000) + ".",
		"10,000 nested marks":            protocol4 + strings.Repeat("(", 10_000) + ".",
		"100,000 marks and tuples":       protocol4 + strings.Repeat("(t", 100_000) + ".",
	}
}

// otherData are valid, harmless pickles that are not snapshots.
func otherData() map[string]string {
	return map[string]string{
		"a number":                    protocol4 + "K\x01.",
		"a string":                    protocol4 + "\x8c\x05hello.",
		"None":                        protocol4 + "N.",
		"a tuple":                     protocol4 + "K\x01K\x02\x86.",
		"an empty dict":               protocol4 + "}.",
		"a dict of something else":    protocol4 + "}\x8c\x07weights]s.",
		"a list of numbers":           protocol4 + "](K\x01K\x02e.",
		"a set":                       protocol4 + "\x8f(K\x01\x90.",
		"a frozen set":                protocol4 + "(K\x01\x91.",
		"bytes":                       protocol4 + "C\x03abc.",
		"a trace entry alone":         protocol4 + "}(\x8c\x06action\x8c\x05alloc\x8c\x04addrK\x01u.",
		"a line of text that is long": "V" + string(bytes.Repeat([]byte("a"), 1<<20)) + "\n.",
	}
}
