package tick

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// What this program cannot read waits for another one, but not for ever: then it is given up, and the log says that nothing follows.
func TestAJobThatCannotBeReadWaitsUntilItsLastTurn(t *testing.T) {
	var logged bytes.Buffer
	b := burier{log: slog.New(slog.NewTextHandler(&logged, nil))}
	job := protocol.ExpiredJob{ID: "j", Body: []byte("\x02\x93\xa4mail\xc4\x00\xc0")}
	if burial, ok := b.bury("default", &job, time.UnixMilli(1)); ok || logged.Len() > 0 {
		t.Errorf("given up as %+v, logged %q; want neither", burial, &logged)
	}
	job.Last = true
	burial, ok := b.bury("default", &job, time.UnixMilli(1))
	if !ok || burial.ID != "j" || burial.Dead != nil || burial.OnDeath != nil || !strings.Contains(logged.String(), "event=job.dead id=j queue=default") {
		t.Errorf("on its last turn it is given up %v, as %+v, logged %q", ok, burial, &logged)
	}
}
