package chime

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
)

// A damagedStore finds this many lost jobs and repairs every second one, and then fails.
type damagedStore struct {
	protocol.Store
	lost   int
	repair bool
}

func (s *damagedStore) Protocol() protocol.Store { return s }

func (s *damagedStore) Verify(_ context.Context, repair bool, found func(protocol.Finding)) (protocol.Verified, error) {
	s.repair = repair
	for i := range s.lost {
		found(protocol.Finding{Kind: protocol.FoundLost, Queue: "mail", ID: "a\xff", Detail: "it is in no list", Remedy: "it waits", Repaired: repair && i%2 == 0})
	}
	return protocol.Verified{Queues: 1, Partitions: 2, Schedules: 3, Jobs: 4, Sessions: 5}, errors.New("the rest was not read")
}

func TestAReportIsBoundedAndCountsAll(t *testing.T) {
	store, reported := &damagedStore{lost: maxFindings + 3}, 0
	report, err := Verify(t.Context(), store, VerifyOptions{Repair: true, Found: func(Finding) { reported++ }})
	if err == nil || !strings.Contains(err.Error(), "chime: verify: the rest was not read") {
		t.Errorf("%v, want the store's error", err)
	}
	if !store.repair || report.Total != maxFindings+3 || reported != report.Total || report.Kinds[FoundLost] != report.Total || len(report.Findings) != maxFindings || report.Repaired != maxFindings/2+2 {
		t.Errorf("total %d, reported %d, kinds %v, %d findings, %d repaired", report.Total, reported, report.Kinds, len(report.Findings), report.Repaired)
	}
}

func TestAReportHasAJSONForm(t *testing.T) {
	report, _ := Verify(t.Context(), &damagedStore{lost: 1}, VerifyOptions{})
	text, err := json.Marshal(report)
	if want := `{"queues":1,"partitions":2,"schedules":3,"jobs":4,"sessions":5,"total":1,"repaired":0,"kinds":{"lost":1},` +
		`"findings":[{"kind":"lost","queue":"mail","id":"a?","detail":"it is in no list","remedy":"it waits","repaired":false}]}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want\n%s", text, err, want)
	}
	if got, want := report.Findings[0].String(), `lost "a?" on queue mail: it is in no list`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	report, _ = Verify(t.Context(), &damagedStore{}, VerifyOptions{})
	if text, _ := json.Marshal(report); !strings.HasSuffix(string(text), `"total":0,"repaired":0,"findings":[]}`) {
		t.Errorf("%s, want an empty list of findings", text)
	}
}

func TestVerifyRefusesStoresThatItCannotRead(t *testing.T) {
	if _, err := Verify(t.Context(), nil, VerifyOptions{}); !errors.Is(err, errNilStore) {
		t.Errorf("%v, want %v", err, errNilStore)
	}
	//lint:ignore SA1012 that is what is tested
	if _, err := Verify(nil, &damagedStore{}, VerifyOptions{}); !errors.Is(err, errNilContext) {
		t.Errorf("%v, want %v", err, errNilContext)
	}
}
