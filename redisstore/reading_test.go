//go:build real

package redisstore

import (
	"regexp"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Reading changes nothing on the server, even for a queue that is not registered and a schedule that is moving.
func TestReadingWritesNothing(t *testing.T) {
	b := onRedis(t)
	b.Scheduled("runs", "skip", storesuite.Ago(time.Minute))
	b.Work("s", protocol.WorkCall{Take: 1})
	for i, name := range []string{"begun", "arrived", "registered", "moved"} {
		b.Declare(name, "skip", `{"job":"j"}`)
		b.interruptMove(name, "default", "mail", i+1)
	}
	b.DeclareOn("lost", "elsewhere", "skip", `{"job":"j"}`)
	b.DeclareOn("left", "settled", "skip", `{"job":"j"}`)
	b.DeclareOn("mail", "settled", "skip", `{"job":"j","to":"mail"}`)
	b.client.HDel(b.Context(), b.store.keys.queues(), "lost", "left", "mail")
	fresh := newStore(b.client, Options{Namespace: string(b.store.keys)}) // knows no queue yet
	changes := func() string {
		return regexp.MustCompile(`rdb_changes_since_last_save:\d+`).FindString(b.client.Info(b.Context(), "persistence").Val())
	}
	before := changes()
	if before == "" {
		t.Fatal("the server does not report how often it was changed")
	}
	for name, read := range map[string]func() error{
		"Find": func() error {
			found, err := fresh.Find(b.Context(), []string{"runs", "begun", "arrived", "registered", "moved", "elsewhere", "settled", "nobody"})
			for i, in := range []string{"default", "mail", "mail", "mail", "mail", "lost", "mail", ""} {
				if err == nil && found[i].Partition.Queue != in {
					b.Errorf("%+v is found, want it in %q", found[i], in)
				}
				if h, ok := parseHead(string(found[i].Definition)); in != "" && (!ok || h.state != "live") {
					b.Errorf("%+v is found, want it live", found[i])
				}
			}
			return err
		},
		"Names":      func() error { _, _, err := fresh.Names(b.Context(), protocol.NameRange{}); return err },
		"Queues":     func() error { _, _, err := fresh.Queues(b.Context(), ""); return err },
		"Served":     func() error { _, err := fresh.Served(b.Context(), []string{"default", "new"}); return err },
		"QueueStats": func() error { _, err := fresh.QueueStats(b.Context(), []string{"default", "new"}); return err },
		"Unhandled": func() error {
			_, err := fresh.Unhandled(b.Context(), []protocol.Handled{{Queue: "new", Name: "j"}})
			return err
		},
		"Check": func() error { return fresh.Check(b.Context()) },
	} {
		if err := read(); err != nil {
			b.Errorf("%s: %v", name, err)
		}
		if after := changes(); after != before {
			b.Errorf("%s has written: %s, was %s", name, after, before)
			before = after
		}
	}
}
