package program

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/engine/train"
)

func TestEverySettingHasAFlag(t *testing.T) {
	want := slices.Sorted(slices.Values(train.Keys()))
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(settingFlags))); diff != "" {
		t.Errorf("flags (-settings +flags):\n%s", diff)
	}
}
