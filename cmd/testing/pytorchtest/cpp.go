package pytorchtest

// CPPPickle returns the pickle of v as PyTorch's C++ pickler writes it: always
// protocol 2, integers beyond 32 bits in eight bytes, addresses cast to signed
// ones, lists and dicts in the memo only when they are used twice and then
// after they are filled. With tags, every list and dict goes through
// restore_type_tag, as torch_npu calls that pickler.
func CPPPickle(v any, tags bool) []byte {
	c := &cpp{tags: tags, uses: map[any]int{}}
	c.count(v)
	p := &pickler{protocol: 2, cpp: c, memo: map[any]int{}, frame: -1, out: []byte{0x80, 2}}
	p.save(v)
	p.write(".")
	return p.out
}

// cpp is what PyTorch's pickler knows beside.
type cpp struct {
	tags bool
	uses map[any]int
}

// count notes how often every list and dict is used.
func (c *cpp) count(v any) {
	switch v := v.(type) {
	case *List:
		if c.uses[v]++; c.uses[v] == 1 {
			for _, item := range v.Items {
				c.count(item)
			}
		}
	case *Dict:
		if c.uses[v]++; c.uses[v] == 1 {
			for _, item := range v.Items {
				c.count(item.Value)
			}
		}
	}
}

const restoreTypeTag = "ctorch.jit._pickle\nrestore_type_tag\n"

func (p *pickler) cppContainer(key any, tag string, opcodes [4]string, n int, item func(i int)) {
	if p.cpp.tags && !p.recall(restoreTypeTag) {
		p.write(restoreTypeTag)
		p.memoize(restoreTypeTag)
	}
	p.write(opcodes[0] + "(")
	for i := range n {
		item(i)
	}
	p.write(opcodes[3])
	if p.cpp.tags {
		p.saveString(tag, true)
		p.write("\x86R")
	}
	if p.cpp.uses[key] > 1 {
		p.memoize(key)
	}
}
