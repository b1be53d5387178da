package action

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

// The account or the namespace of a message gives its host. Only 201 is success, and no part of a signature is noted.
func TestAMessageToAzureCountsOnce201HasCome(t *testing.T) {
	storage := &Action{Type: StorageQueue, QueueMessage: &QueueMessage{StorageAccount: "account", QueueName: "orders", SASToken: Plain("?sv=1&sig=canary%2Fx"), Message: "hello"}}
	bus := &Action{Type: ServiceBusQueue, BusQueueMessage: &BusMessage{QueueName: "orders", Namespace: "namespace", Authentication: &BusAuthentication{"SharedAccessKey", "send", Plain("canary")}}}
	for host, a := range map[string]*Action{"account.queue.core.windows.net": storage, "namespace.servicebus.windows.net": bus} {
		for status, want := range map[int]chime.Action{201: chime.Succeeded, 200: chime.Retried, 403: chime.Retried, 410: chime.Discarded} {
			chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
				p := &pipedReceiver{answer: func(r *http.Request) string {
					body := r.URL.RawQuery + " " + r.Header.Get("Authorization")
					return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), len(body), body)
				}}
				sender := pipedSender(t, p)
				sender.transports.shared.transport.DialTLSContext = p.dial
				w := send(t, sender, a)
				p.mu.Lock()
				defer p.mu.Unlock()
				if len(p.got) != 1 || p.got[0].Host != host || p.got[0].Method != "POST" || w.Action != want || NoteStatus(w.Note) != status {
					t.Errorf("%s, %d: %d requests, %v, note %q", host, status, len(p.got), w.Outcome, w.Note)
				}
				sent := strings.SplitN(p.got[0].Header.Get("Authorization")+"&sig=&", "sig=", 2)[1]
				signature, _, _ := strings.Cut(sent, "&")
				if strings.Contains(w.Note, "canary") || signature != "" && strings.Contains(w.Note, signature) {
					t.Errorf("%s: the note contains a signature: %s", host, w.Note)
				}
			})
		}
	}
}
