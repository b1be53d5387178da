package pages

import (
	"fmt"
	"testing"

	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/overview"
)

func TestChartsOfManyZonesAreNotAllKept(t *testing.T) {
	var d drawings
	for i := range 2 * maxDrawings {
		d.get(drawing{zone: fmt.Sprint(i)}, &overview.Charts{}, func() []render.Chart { return nil })
		d.get(drawing{zone: "Europe/Berlin"}, &overview.Charts{}, func() []render.Chart { return nil })
	}
	if len(d.all) > maxDrawings {
		t.Errorf("%d drawings are kept, want at most %d", len(d.all), maxDrawings)
	}
	if d.all[drawing{zone: "Europe/Berlin"}] == nil {
		t.Error("the one that was asked for all the time is not among them")
	}
}
