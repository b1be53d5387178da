package chime

import (
	"slices"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/work"
)

// The words and numbers that applications see are those that the engines use and that are stored.
func TestPublicConstantsEqualThoseOfTheEngines(t *testing.T) {
	words := [][2]string{
		{string(OverlapSkip), schedule.OverlapSkip}, {string(OverlapWait), schedule.OverlapWait},
		{string(OverlapCancel), schedule.OverlapCancel}, {string(OverlapAllow), schedule.OverlapAllow},
		{string(MisfireRunOnce), schedule.MisfireRunOnce}, {string(MisfireSkip), schedule.MisfireSkip}, {string(MisfireCatchUp), schedule.MisfireCatchUp},
		{string(StateLive), protocol.StateLive}, {string(StatePaused), protocol.StatePaused}, {string(StateCompleted), protocol.StateCompleted},
	}
	for _, pair := range words {
		if pair[0] != pair[1] {
			t.Errorf("the application sees %q, the engine uses %q", pair[0], pair[1])
		}
	}
	public := []int{int(Succeeded), int(Retried), int(Discarded), int(Snoozed)}
	engine := []int{int(work.Succeeded), int(work.Retried), int(work.Discarded), int(work.Snoozed)}
	if !slices.Equal(public, engine) {
		t.Errorf("actions are %v for the application and %v for the engine", public, engine)
	}
}
