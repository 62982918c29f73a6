package kernels

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// argumentTypes are the kernels' argument structs, by their names in C++.
var argumentTypes = []reflect.Type{
	reflect.TypeFor[fillArgs](),
	reflect.TypeFor[castArgs](),
	reflect.TypeFor[unaryArgs](),
	reflect.TypeFor[binaryArgs](),
	reflect.TypeFor[scaleArgs](),
	reflect.TypeFor[copyStridedArgs](),
	reflect.TypeFor[reduceArgs](),
	reflect.TypeFor[listItem](),
	reflect.TypeFor[listArgs](),
	reflect.TypeFor[normRootArgs](),
	reflect.TypeFor[updateScaleArgs](),
	reflect.TypeFor[normArgs](),
	reflect.TypeFor[normParamsArgs](),
	reflect.TypeFor[softmaxArgs](),
	reflect.TypeFor[entropyArgs](),
	reflect.TypeFor[gatherArgs](),
	reflect.TypeFor[scatterArgs](),
	reflect.TypeFor[dropoutArgs](),
	reflect.TypeFor[drawArgs](),
	reflect.TypeFor[correctArgs](),
	reflect.TypeFor[updateItem](),
	reflect.TypeFor[updateArgs](),
	reflect.TypeFor[advanceArgs](),
	reflect.TypeFor[matMulArgs](),
	reflect.TypeFor[attentionArgs](),
	reflect.TypeFor[scoresArgs](),
	reflect.TypeFor[storeHeadsArgs](),
	reflect.TypeFor[convArgs](),
	reflect.TypeFor[addChannelArgs](),
}

// LayoutTable returns C++ that makes a table, memtop_layout, of the sizes and
// of the fields' offsets and sizes of all argument structs, as the C++ compiler
// lays them out. It does not compile when a field is missing in C++.
func LayoutTable() string {
	var b strings.Builder
	b.WriteString("extern \"C\" const u32 memtop_layout[] = {\n")
	eachArgument(func(s reflect.Type, f *reflect.StructField) {
		c := upper(s.Name())
		if f == nil {
			fmt.Fprintf(&b, "sizeof(%s),\n", c)
			return
		}
		fmt.Fprintf(&b, "offsetof(%s, %s), sizeof(((%[1]s *)0)->%[2]s),\n", c, cName(f.Name))
	})
	b.WriteString("};\n")
	return b.String()
}

// Layout returns the same of Go's structs, and the meaning of each number.
func Layout() (numbers []uint32, meanings []string) {
	add := func(n uintptr, format string, arguments ...any) {
		numbers = append(numbers, uint32(n))
		meanings = append(meanings, fmt.Sprintf(format, arguments...))
	}
	eachArgument(func(s reflect.Type, f *reflect.StructField) {
		if f == nil {
			add(s.Size(), "size of %s", s.Name())
			return
		}
		add(f.Offset, "offset of %s.%s", s.Name(), f.Name)
		add(f.Type.Size(), "size of %s.%s", s.Name(), f.Name)
	})
	return numbers, meanings
}

// eachArgument calls do with every struct and nil, then with its fields.
func eachArgument(do func(s reflect.Type, f *reflect.StructField)) {
	for _, s := range argumentTypes {
		do(s, nil)
		for f := range s.Fields() {
			do(s, &f)
		}
	}
}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// cName turns DstStep into dst_step and DY into dy.
func cName(name string) string {
	if name == "DO" { // do is a keyword of C++
		return "d_o"
	}
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && unicode.IsLower(runes[i-1]) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// SetBand makes bands of scores and of unfolded images small, so that small cases have several.
func (c *Compute) SetBand(bytes int64, rows int) { c.band, c.rows = bytes, rows }

// SetScatterIDs makes rounds of ids small, so that small cases have several.
func (c *Compute) SetScatterIDs(n int64) { c.scatterIDs = n }
