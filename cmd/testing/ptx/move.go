package ptx

import "unsafe"

// The steps of loads, by type, and of stores, by size. What is loaded fills a register,
// extended by its sign if the type has one.
var (
	loads = map[string]func(*warp, *instruction){
		"u8": load[uint8], "s8": load[int8], "b8": load[uint8], "u16": load[uint16], "s16": load[int16], "b16": load[uint16],
		"u32": load[uint32], "s32": load[int32], "b32": load[uint32], "f32": load[uint32],
		"u64": load[uint64], "s64": load[uint64], "b64": load[uint64], "f64": load[uint64],
	}
	stores          = map[uint64]func(*warp, *instruction){1: store[uint8], 2: store[uint16], 4: store[uint32], 8: store[uint64]}
	parameterLoads  = map[uint64]func(*warp, *instruction){1: parameterLoad[uint8], 2: parameterLoad[uint16], 4: parameterLoad[uint32], 8: parameterLoad[uint64]}
	parameterStores = map[uint64]func(*warp, *instruction){1: parameterStore[uint8], 2: parameterStore[uint16], 4: parameterStore[uint32], 8: parameterStore[uint64]}
)

// element returns the number at p + k of a type's size.
func element[T integer](p unsafe.Pointer, k int) *T {
	return (*T)(unsafe.Add(p, uintptr(k)*unsafe.Sizeof(T(0))))
}

func load[T integer](w *warp, in *instruction) {
	for i := range width {
		if w.mask>>i&1 == 0 {
			continue
		}
		p := w.at(in, i, w.address(in, i))
		for k, r := range in.list {
			w.registers[r][i] = uint64(*element[T](p, k))
		}
	}
	if in.access.strong {
		w.status = waiting // another block may have to go on first
	}
}

func store[T integer](w *warp, in *instruction) {
	for i := range width {
		if w.mask>>i&1 == 0 {
			continue
		}
		p := w.at(in, i, w.address(in, i))
		for k, r := range in.list {
			*element[T](p, k) = T(w.registers[r][i])
		}
	}
}

// address returns the address that a thread passes.
func (w *warp) address(in *instruction, i int) uint64 {
	base := w.registers[in.a][i]
	if !in.long {
		base = uint64(uint32(base))
	}
	return base + in.offset
}

// parameter returns a number of a call's parameter.
func parameter[T integer](w *warp, in *instruction, i, k int) *T {
	at := in.offset + uint64(k)*uint64(unsafe.Sizeof(T(0)))
	return (*T)(unsafe.Add(unsafe.Pointer(&w.registers[in.a+int32(at/8)][i]), at%8))
}

func parameterLoad[T integer](w *warp, in *instruction) {
	for i := range width {
		if w.mask>>i&1 == 0 {
			continue
		}
		for k, r := range in.list {
			w.registers[r][i] = uint64(*parameter[T](w, in, i, k))
		}
	}
}

func parameterStore[T integer](w *warp, in *instruction) {
	for i := range width {
		if w.mask>>i&1 == 0 {
			continue
		}
		for k, r := range in.list {
			*parameter[T](w, in, i, k) = T(w.registers[r][i])
		}
	}
}

func atomicAdd(w *warp, in *instruction) {
	w.atomically(in, func(word *uint32, i int) { *word += uint32(w.registers[in.b][i]) })
}

func atomicSwap(w *warp, in *instruction) {
	w.atomically(in, func(word *uint32, i int) {
		if *word == uint32(w.registers[in.b][i]) {
			*word = uint32(w.registers[in.c][i])
		}
	})
}

// atomically changes a word for each thread in turn, and gives it what was there before.
func (w *warp) atomically(in *instruction, change func(word *uint32, i int)) {
	for i := range width {
		if w.mask>>i&1 == 0 {
			continue
		}
		word := (*uint32)(w.at(in, i, w.address(in, i)))
		before := *word
		change(word, i)
		w.registers[in.d][i] = uint64(before)
	}
}
