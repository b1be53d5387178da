package tick

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A job that this program cannot read waits for another program, but not without end: on its last turn it is dead, and the log reports that no
// job follows.
func TestAJobThatCannotBeReadWaitsUntilItsLastTurn(t *testing.T) {
	var logged bytes.Buffer
	b := burier{log: slog.New(slog.NewTextHandler(&logged, nil))}
	job := protocol.ExpiredJob{ID: "j", Body: []byte("\x03\x93\xa4mail\xc4\x00\xc0")}
	if burial, ok := b.bury("default", &job, time.UnixMilli(1)); ok || logged.Len() > 0 {
		t.Errorf("dead as %+v, logged %q; want neither", burial, &logged)
	}
	job.Last = true
	burial, ok := b.bury("default", &job, time.UnixMilli(1))
	if !ok || burial.ID != "j" || burial.Dead != nil || burial.Follower != nil || !strings.Contains(logged.String(), "event=job.unfollowed id=j queue=default") {
		t.Errorf("on its last turn it is dead: %v, as %+v, logged %q", ok, burial, &logged)
	}
}
