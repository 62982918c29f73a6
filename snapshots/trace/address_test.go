package trace

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// addresses are few enough to meet again, and alike in their low bits as real
// ones are.
func randomAddress(r *rand.Rand) uint64 { return 0x7f00_0000_0000 + uint64(r.IntN(3000))*512 }

func TestAddressTableIsAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var table addressTable
	model := map[uint64]AllocationID{}
	for i := range 200_000 {
		addr := randomAddress(r)
		want, has := model[addr]
		if r.IntN(2) == 0 {
			old, ok := table.put(addr, AllocationID(i))
			if ok != has || ok && old != want {
				t.Fatalf("step %d: put over %d, %v; want %d, %v", i, old, ok, want, has)
			}
			model[addr] = AllocationID(i)
		} else {
			old, ok := table.remove(addr)
			if ok != has || old != want {
				t.Fatalf("step %d: removed %d, %v; want %d, %v", i, old, ok, want, has)
			}
			delete(model, addr)
		}
		probe := randomAddress(r)
		if _, ok := model[probe]; table.has(probe) != ok {
			t.Fatalf("step %d: has(%#x) is wrong", i, probe)
		}
	}
	got := map[uint64]AllocationID{}
	for _, slot := range table.slots {
		if slot.used {
			got[slot.addr] = slot.id
		}
	}
	if !maps.Equal(got, model) || table.count != len(model) {
		t.Errorf("%d entries, counted as %d, want %d", len(got), table.count, len(model))
	}
}

func TestOrderedIDsIsASortedMap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var set orderedIDs
	model := map[uint64]int32{}
	for i := range 100_000 {
		addr := randomAddress(r)
		want, has := model[addr]
		switch r.IntN(5) {
		case 0, 1:
			set.put(addr, int32(i))
			model[addr] = int32(i)
		case 2, 3:
			if id, ok := set.remove(addr); ok != has || id != want {
				t.Fatalf("step %d: removed %d, %v; want %d, %v", i, id, ok, want, has)
			}
			delete(model, addr)
		default:
			if id, ok := set.get(addr); ok != has || id != want {
				t.Fatalf("step %d: got %d, %v; want %d, %v", i, id, ok, want, has)
			}
		}
		if i%1000 == 0 {
			sameOrder(t, &set, model, addr)
		}
	}
}

// sameOrder compares the set with a model, from an address on and below it.
func sameOrder(t *testing.T, set *orderedIDs, model map[uint64]int32, from uint64) {
	t.Helper()
	addrs := slices.Sorted(maps.Keys(model))
	at, exact := slices.BinarySearch(addrs, from)
	var got []uint64
	set.from(from, func(addr uint64, id int32) bool {
		if id != model[addr] {
			t.Fatalf("%#x has %d, want %d", addr, id, model[addr])
		}
		got = append(got, addr)
		return true
	})
	if !slices.Equal(got, addrs[at:]) || set.count != len(addrs) {
		t.Fatalf("%d addresses from %#x of %d, want %d of %d", len(got), from, set.count, len(addrs)-at, len(addrs))
	}
	if exact {
		at++
	}
	id, ok := set.floor(from)
	if ok != (at > 0) || ok && id != model[addrs[at-1]] {
		t.Fatalf("floor(%#x) is %d, %v; want a number: %v", from, id, ok, at > 0)
	}
}
