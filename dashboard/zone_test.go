package dashboard

import (
	"net/url"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// No header contains a browser's time zone. Its scripts send it when they open the stream, which then renders the whole page in it.
func TestAnOpenPageIsDrawnInTheBrowsersZone(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := busy(t, store)
		d := newDashboard(t, store, Options{Authorize: as(View)})
		during(t, func() {
			time.Sleep(11 * time.Minute) // fake time passes
			page := send(d, "GET", "/?own=Asia/Kathmandu")
			wants(t, "a page", page, 200, `data-zone="Asia/Kathmandu"`, `data-zone-note>Asia/Kathmandu<`)
			lacks(t, "a page", page, "data-zone-fixed", "zone=Asia", "own=Asia")
			next := watch(t, d, "/events?page=schedules/report&own=Asia/Kathmandu")
			next(`data-zone-note\u003eAsia/Kathmandu\u003c`)
			for what, own := range map[string]string{"unknown": "Mars/Olympus", "Local": "Local", "a path": "../../etc/passwd", "long": string(make([]byte, 500))} {
				wants(t, what, send(d, "GET", "/?own="+url.QueryEscape(own)), 200, `data-zone="UTC"`)
			}
			wants(t, "a chosen one goes before it", send(d, "GET", "/?own=Asia/Kathmandu&zone=Asia/Tokyo"), 200, `data-zone="Asia/Tokyo"`, "zone=Asia%2FTokyo")
		}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
	})
}

// Requests with a thousand time zones do not fill the memory.
func TestPagesOfManyZonesAreNotAllKept(t *testing.T) {
	s := shared{pages: map[topic]*reading{}}
	for i := range 2 * maxShared {
		s.join(topic{zone: time.Duration(i).String()})
	}
	if len(s.pages) > maxShared {
		t.Errorf("%d pages are kept, want at most %d", len(s.pages), maxShared)
	}
}

func TestTheSwitchProposesTheSchedulesZone(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		put(t, store, "report", "TZ=Asia/Kathmandu 0 9 * * *")
		d := newDashboard(t, store, Options{})
		const option = `<option value="Asia/Kathmandu">`
		lacks(t, "the list", send(d, "GET", "/schedules"), option)
		wants(t, "the schedule", send(d, "GET", "/schedules/report"), 200, option, `Its rule uses the time zone Asia/Kathmandu. <a href="./schedules/report?zone=Asia%2FKathmandu">`)
	})
}
