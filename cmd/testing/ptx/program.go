package ptx

import "fmt"

// width is the threads of a warp.
const width = 32

// lanes is a register of a warp: one word for each thread. An instruction of a narrow
// type uses the low bytes of a word and need not write the others.
type lanes [width]uint64

// Program is an entry of a module, and the functions that it calls, made ready to run:
// every name is a number. Only one launch at a time may run it.
type Program struct {
	Name      string
	code      []instruction
	registers int
	constants []constant          // registers that never change
	specials  []special           // registers that the launch sets
	shared    int                 // bytes, without those whose number the launch sets
	local     int                 // bytes of each thread
	params    int                 // bytes
	threads   int                 // the most of a block
	data      []byte              // what the module has in constant memory
	starts    map[*function]int32 // the first instruction
	ends      map[*function]int32 // of functions: the instruction at which all threads meet
	idle      []*block            // that have ended, whose memory may be used again
	freedom   Freedom             // of the launch that runs
}

type constant struct {
	register int32
	value    uint64
}

type special struct {
	register int32
	name     string
}

// instruction is a statement made ready. It has either an operation on registers alone,
// which happens for all threads alike, or a step that does all else.
type instruction struct {
	lanes       operation
	step        func(w *warp, in *instruction)
	d, a, b, c  int32     // registers
	list        []int32   // more of them: vectors and fragments
	offset      uint64    // added to an address
	long        bool      // the address has 64 bits
	access      access    // of memory
	target      int32     // of a branch or a call
	join        int32     // where the threads that a branch parts meet again
	branches    bool      // target is in the same function
	conditional bool      // not all threads need go to target
	unless      bool      // those for which it is false go there
	callee      *function // of a call
	function    *function
	written     *statement // nil at the end of a function
}

// linker makes a program.
type linker struct {
	module    *Module
	program   *Program
	function  *function         // the one that is read
	names     map[string]int32  // registers of the function
	values    map[uint64]int32  // registers of constants
	specials  map[string]int32  // registers that the launch sets
	slots     map[string]int32  // the registers of parameters, by function and name
	addresses map[string]uint64 // of variables, in their space
	err       error
}

// Link returns an entry, ready to run.
func (m *Module) Link(entry string) (*Program, error) {
	f := m.functions[entry]
	if f == nil || !f.entry {
		return nil, fmt.Errorf("ptx: no entry %q", entry)
	}
	p := &Program{Name: entry, threads: f.threads, starts: make(map[*function]int32), ends: make(map[*function]int32)}
	l := &linker{
		module: m, program: p, values: make(map[uint64]int32), specials: make(map[string]int32),
		slots: make(map[string]int32), addresses: make(map[string]uint64),
	}
	for _, v := range f.params {
		l.addresses[v.name] = l.place(&p.params, v)
	}
	for _, v := range m.constants {
		at := len(p.data)
		l.addresses[v.name] = l.place(&at, v)
		p.data = append(append(p.data, make([]byte, int(l.addresses[v.name])-len(p.data))...), v.content...)
	}
	l.add(f)
	if l.err != nil {
		return nil, fmt.Errorf("ptx: %s: %w", entry, l.err)
	}
	return p, nil
}

// place gives a variable its place behind others.
func (*linker) place(used *int, v variable) uint64 {
	at := (*used + v.align - 1) / v.align * v.align
	*used = at + v.bytes
	return uint64(at)
}

// fail notes the first mistake.
func (l *linker) fail(s *statement, format string, arguments ...any) {
	if l.err == nil {
		l.err = fmt.Errorf("line %d: %s: %w", s.line, s.opcode, fmt.Errorf(format, arguments...))
	}
}

// slotWords are the registers of a parameter of a call.
const slotWords = 4

// slot returns the first register of a parameter of a call.
func (l *linker) slot(f *function, name string) int32 {
	key := slotKey(f, name)
	r, ok := l.slots[key]
	if !ok {
		r = l.fresh(slotWords)
		l.slots[key] = r
	}
	return r
}

func slotKey(f *function, name string) string { return f.name + " " + name }

// register returns a register by its name in the function, a new one at first.
func (l *linker) register(name string) int32 {
	r, ok := l.names[name]
	if !ok {
		r = l.fresh(1)
		l.names[name] = r
	}
	return r
}

// fresh returns the first of n registers that nothing else uses.
func (l *linker) fresh(n int) int32 {
	l.program.registers += n
	return int32(l.program.registers - n)
}

// value returns a register that holds a constant.
func (l *linker) value(v uint64) int32 {
	r, ok := l.values[v]
	if !ok {
		r = l.fresh(1)
		l.values[v] = r
		l.program.constants = append(l.program.constants, constant{r, v})
	}
	return r
}
